type Question<T, R> = { item: T } & PromiseWithResolvers<R>;

/** Questions on their way at once; with more than one, a lost answer does not hold up everybody. */
const AT_ONCE = 2;
/** Questions of one request at most, where nothing else is said. */
const MOST = 200;

/** Asks for many things at once. A single question is sent at once. While two requests are under way, further questions gather for the next one. */
export class ReadLane<T, R> {
  readonly #read: (items: readonly T[]) => Promise<readonly R[]>;
  readonly #most: number;
  #waiting: Question<T, R>[] = [];
  #asking = 0;

  /** `read` answers in the order of the items, of which it gets `most` at once. */
  constructor(read: (items: readonly T[]) => Promise<readonly R[]>, most = MOST) {
    this.#read = read;
    this.#most = most;
  }

  /** The answer to a question that is asked now or later. Rejects with the error of its request. */
  ask(item: T): Promise<R> {
    const question = { item, ...Promise.withResolvers<R>() };
    this.#waiting.push(question);
    if (this.#asking < AT_ONCE) void this.#run();
    return question.promise;
  }

  async #run(): Promise<void> {
    this.#asking += 1;
    while (this.#waiting.length > 0) {
      const questions = this.#waiting.splice(0, this.#most);
      try {
        const answers = await this.#read(questions.map(({ item }) => item));
        questions.forEach(({ resolve }, index) => void resolve(answers[index] as R));
      } catch (error) {
        for (const { reject } of questions) reject(error);
      }
    }
    this.#asking -= 1;
  }
}

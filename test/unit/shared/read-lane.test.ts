import { describe, expect, it } from "vitest";
import { ReadLane } from "../../../shared/read-lane.ts";

/** A lane whose requests are answered by hand. */
function laneByHand() {
  const requests: { items: readonly number[]; answer: PromiseWithResolvers<number[]> }[] = [];
  const lane = new ReadLane<number, number>((items) => {
    const answer = Promise.withResolvers<number[]>();
    requests.push({ items, answer });
    return answer.promise;
  });
  const answer = (index: number) => requests[index]?.answer.resolve(requests[index].items.map((item) => item * 10));
  return { lane, requests, answer };
}

describe("questions of one moment", () => {
  it("go out together while answers are on their way, and each gets its own", async () => {
    const { lane, requests, answer } = laneByHand();
    const answers = [1, 2, 3, 4].map((item) => lane.ask(item));
    expect(requests.map(({ items }) => items)).toEqual([[1], [2]]);
    answer(0);
    expect(await answers[0]).toBe(10);
    answer(1);
    answer(2);
    expect(await Promise.all(answers)).toEqual([10, 20, 30, 40]);
    expect(requests.map(({ items }) => items)).toEqual([[1], [2], [3, 4]]);
  });

  it("are asked after they came, never answered by a request that had left before", async () => {
    const { lane, requests, answer } = laneByHand();
    const first = [lane.ask(1), lane.ask(1)];
    const later = lane.ask(1);
    answer(0);
    answer(1);
    await Promise.all(first);
    expect(requests).toHaveLength(3);
    answer(2);
    expect(await later).toBe(10);
  });

  it("fail with their request alone", async () => {
    const { lane, requests, answer } = laneByHand();
    const [lost, kept] = [lane.ask(1), lane.ask(2)];
    requests[0]?.answer.reject(new Error("no answer"));
    await expect(lost).rejects.toThrow("no answer");
    answer(1);
    expect(await kept).toBe(20);
  });
});

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, type KeyboardEvent, lazy, Suspense, useEffect, useId, useRef, useState } from "react";
import { quote } from "../../../../protocol/pricing.ts";
import type { Model } from "../../../contract.ts";
import { app } from "../../data/app.ts";
import { demoQuery, modelsQuery, networkQuery } from "../../data/queries.ts";
import { useNow } from "../../ui/clock.ts";
import { Button, Field, Select } from "../../ui/controls.tsx";
import { count, credits } from "../../ui/format.ts";
import { Failure, Folded } from "../../ui/page.tsx";
import { pricesOf } from "../../ui/price-table.tsx";
import { bodyOf, chat, type Message, type Parameters, type Step } from "./chat.ts";
import { type Receipt, ReceiptSteps } from "./receipt.tsx";

const LENGTHS = [250, 500, 1_000, 2_000];
const PROMPTS = ["Say hello.", "Explain an escrow in two sentences.", "Write a haiku about receipts."];
/** Cheap and quick: what is asked first where no model is known to answer, only text generators. */
const FIRST = "qwen3-8b";

/** The code that reads Markdown comes with the first answer, the code samples when somebody asks for them. */
const Markdown = lazy(() => import("../../ui/markdown.tsx"));
const FirstCall = lazy(async () => ({ default: (await import("../../ui/first-call.tsx")).FirstCall }));

/** Chat with any model, and see lock, signature, settlement and price as they come. */
export function Playground() {
  const catalog = useQuery(modelsQuery);
  const models = catalog.data?.data.filter((model) => model.active_workers > 0) ?? [];
  const demo = useQuery({ ...demoQuery, enabled: app.development }).data?.api_key ?? null;
  const [name, setName] = useState(new URLSearchParams(location.search).get("model"));
  const [length, setLength] = useState(500);
  const [settings, setSettings] = useState<ChatSettings>(MODELS_OWN);
  const [ownKey, setOwnKey] = useState("");
  const [text, setText] = useState("");
  /** Place of the message that is written anew. */
  const [edited, setEdited] = useState<number | null>(null);
  const apiKey = ownKey || demo;
  const { messages, receipt, isRunning, send, stop, clear } = useChat();
  const first = models.find(({ demo }) => !demo) ?? models.find(({ id }) => id === FIRST) ?? models[0];
  const model = models.find(({ id }) => id === name) ?? first;
  const parameters = parametersOf(settings, length);
  const fault = faultOf(settings);
  const system: Message[] = settings.system.trim() === "" ? [] : [{ role: "system", content: settings.system.trim() }];
  const ask = (asked: string) => {
    if (model === undefined || apiKey === null || isRunning || asked.trim() === "" || fault !== null) return;
    const history = messages.slice(0, edited ?? messages.length);
    void send({
      apiKey,
      model: model.id,
      parameters,
      system,
      history,
      text: asked.trim(),
      most: quote(length, pricesOf(model)),
    });
    setText("");
    setEdited(null);
  };
  const edit = (place: number) => {
    setText(messages[place]?.content ?? "");
    setEdited(place);
  };
  return (
    <section className="playground card" aria-label="Playground" id="playground">
      <div className="talk">
        <div className="filters">
          <Select label="Model" value={model?.id ?? ""} onChange={(event) => setName(event.target.value)}>
            {models.length === 0 ? (
              <option value="">{catalog.isPending ? "loading …" : "none can be asked now"}</option>
            ) : null}
            {models.map(({ id, demo }) => (
              <option key={id} value={id}>
                {demo ? `${id} (demo text)` : id}
              </option>
            ))}
          </Select>
          <Select label="Longest answer" value={length} onChange={(event) => setLength(Number(event.target.value))}>
            {LENGTHS.map((tokens) => (
              <option key={tokens} value={tokens}>
                {count(tokens)} tokens
              </option>
            ))}
          </Select>
          {messages.length > 0 ? (
            <Button
              kind="quiet"
              disabled={isRunning}
              onClick={() => {
                clear();
                setEdited(null);
              }}
            >
              New chat
            </Button>
          ) : null}
        </div>
        <Folded className="folded" summary="System prompt and parameters">
          {() => <SettingsFields settings={settings} change={setSettings} fault={fault} />}
        </Folded>
        {model?.demo ? <DemoNotice /> : null}
        <Talk messages={messages} isRunning={isRunning} receipt={receipt} onEdit={edit} />
        {receipt?.failure === undefined ? null : <Failure message={{ title: "No answer", text: receipt.failure }} />}
        {messages.length === 0 ? (
          <p className="tags">
            {PROMPTS.map((prompt) => (
              <Button
                key={prompt}
                className="chip"
                disabled={apiKey === null || model === undefined}
                onClick={() => ask(prompt)}
              >
                {prompt}
              </Button>
            ))}
          </p>
        ) : null}
        <Ask
          text={text}
          setText={setText}
          onAsk={ask}
          disabled={apiKey === null || model === undefined || fault !== null}
          isRunning={isRunning}
          onStop={stop}
          price={model === undefined ? "" : priceOf(model, length)}
          cancelEdit={
            edited === null
              ? null
              : () => {
                  setEdited(null);
                  setText("");
                }
          }
        />
        <Key demo={demo !== null} value={ownKey} onChange={setOwnKey} />
        {model === undefined ? null : (
          <Folded className="folded" summary="View code of this chat">
            {() => (
              <Suspense>
                <FirstCall
                  model={model.id}
                  body={bodyOf(model.id, [...system, ...askedOf(messages, text)], parameters)}
                />
              </Suspense>
            )}
          </Folded>
        )}
      </div>
      <div className="paid">
        <h3>The charge, live</h3>
        <ReceiptSteps receipt={receipt} />
      </div>
    </section>
  );
}

/** The conversation up to the question that its code asks: the one being typed, else the last. */
function askedOf(messages: readonly Message[], text: string): Message[] {
  const said = messages.filter(({ content }) => content !== "");
  if (text.trim() !== "") return [...said, { role: "user", content: text.trim() }];
  const last = said.findLastIndex(({ role }) => role === "user");
  return last === -1 ? [{ role: "user", content: PROMPTS[0] ?? "" }] : said.slice(0, last + 1);
}

/** As typed; what is empty is left to the model server. */
const MODELS_OWN = { system: "", temperature: "", topP: "", frequency: "", presence: "", seed: "", stop: "" };
type ChatSettings = typeof MODELS_OWN;

function parametersOf(
  { temperature, topP, frequency, presence, seed, stop }: ChatSettings,
  length: number,
): Parameters {
  return {
    max_tokens: length,
    ...(temperature.trim() !== "" && { temperature: Number(temperature) }),
    ...(topP.trim() !== "" && { top_p: Number(topP) }),
    ...(frequency.trim() !== "" && { frequency_penalty: Number(frequency) }),
    ...(presence.trim() !== "" && { presence_penalty: Number(presence) }),
    ...(seed.trim() !== "" && { seed: Number(seed) }),
    ...(stop !== "" && { stop: [stop] }),
  };
}

/** The first setting that cannot be sent as typed, in the API's words; null if all can. */
function faultOf({ temperature, topP, frequency, presence, seed }: ChatSettings): string | null {
  const outside = (text: string, most: number, least = 0) =>
    text.trim() !== "" && !(Number(text) >= least && Number(text) <= most);
  if (outside(frequency, 2, -2)) return "Frequency penalty must be a number from -2 to 2.";
  if (outside(presence, 2, -2)) return "Presence penalty must be a number from -2 to 2.";
  if (outside(temperature, 2)) return "Temperature must be a number from 0 to 2.";
  if (outside(topP, 1)) return "Top P must be a number from 0 to 1.";
  if (seed.trim() !== "" && !/^\d{1,15}$/.test(seed.trim())) return "Seed must be a whole number.";
  return null;
}

type SettingsProps = { settings: ChatSettings; change: (settings: ChatSettings) => void; fault: string | null };

function SettingsFields({ settings, change, fault }: SettingsProps) {
  const id = useId();
  const field = (name: keyof ChatSettings, label: string, placeholder: string) => (
    <Field
      label={label}
      placeholder={placeholder}
      inputMode={["temperature", "topP", "seed"].includes(name) ? "decimal" : "text"}
      value={settings[name]}
      onChange={(event) => change({ ...settings, [name]: event.target.value })}
    />
  );
  return (
    <div className="settings">
      <div className="field">
        <label htmlFor={id}>System prompt</label>
        <textarea
          id={id}
          rows={2}
          placeholder="You answer in one sentence."
          value={settings.system}
          onChange={(event) => change({ ...settings, system: event.target.value })}
        />
      </div>
      <div className="parameters">
        {field("temperature", "Temperature", "model's own")}
        {field("topP", "Top P", "model's own")}
        {field("frequency", "Frequency penalty", "model's own")}
        {field("presence", "Presence penalty", "model's own")}
        {field("seed", "Seed", "random")}
        {field("stop", "Stop at", "nothing")}
      </div>
      <p className="hint wrong" role="status">
        {fault}
      </p>
    </div>
  );
}

/** Says that no model answers, and how to connect one. */
const DemoNotice = () => (
  <p className="hint">
    Demo text: no model answers here. Start Ollama, llama-server, vLLM or LM Studio on this machine and run{" "}
    <code>npm start</code> again, or name a server with <code>npm start -- --backend URL</code>.
  </p>
);

/** The least and the most that an answer can cost. */
function priceOf(model: Model, length: number): string {
  const [least, most] = [model.credits_per_request, quote(length, pricesOf(model))];
  return least === most ? `costs ${credits(least)}` : `costs ${credits(least)} at least, ${credits(most)} at most`;
}

/** The conversation and the receipt of its last request. */
function useChat() {
  const cache = useQueryClient();
  const [messages, setMessages] = useState<Message[]>([]);
  const [receipt, setReceipt] = useState<Receipt | null>(null);
  const [running, setRunning] = useState<{ stop: AbortController; left: AbortController } | null>(null);
  useEffect(() => () => running?.left.abort(), [running]);

  type Sent = {
    apiKey: string;
    model: string;
    parameters: Parameters;
    system: readonly Message[];
    history: readonly Message[];
    text: string;
    most: number;
  };
  const send = async ({ text, most, system, history, ...asked }: Sent) => {
    const signals = { stop: new AbortController(), left: new AbortController() };
    const said: Message[] = [...history.filter(({ content }) => content !== ""), { role: "user", content: text }];
    const begin = performance.now();
    setMessages([...said, { role: "assistant", content: "" }]);
    setReceipt({ most });
    setRunning(signals);
    const onStep = (step: Step) => {
      const ms = performance.now() - begin;
      if (step.step === "text") {
        setMessages((all) => all.with(-1, { role: "assistant", content: (all.at(-1)?.content ?? "") + step.text }));
      } else if (step.step === "tokens") setReceipt((before) => before && { ...before, tokens: step.tokens });
      else if (step.step === "stopped") setReceipt((before) => before && { ...before, stopped: true });
      else setReceipt((before) => before && { ...before, [step.step]: { ...step, ms } });
      if (step.step === "settled") void cache.invalidateQueries({ queryKey: networkQuery.queryKey });
    };
    try {
      await chat({ ...asked, messages: [...system, ...said] }, onStep, {
        stop: signals.stop.signal,
        left: signals.left.signal,
      });
    } catch (error) {
      const failure = signals.stop.signal.aborted
        ? "You stopped before the service named a job. If its credits were locked all the same, your list of jobs shows it and what became of them."
        : (error as Error).message;
      setReceipt((before) => before && { ...before, failure });
    } finally {
      setRunning(null);
    }
  };
  const clear = () => {
    setMessages([]);
    setReceipt(null);
  };
  return { messages, receipt, isRunning: running !== null, send, stop: () => running?.stop.abort(), clear };
}

type TalkProps = {
  messages: readonly Message[];
  isRunning: boolean;
  receipt: Receipt | null;
  onEdit: (place: number) => void;
};

function Talk({ messages, isRunning, receipt, onEdit }: TalkProps) {
  const end = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each new text scrolls to the end
  useEffect(() => {
    if (end.current !== null) end.current.scrollTop = end.current.scrollHeight;
  }, [messages]);
  if (messages.length === 0) return null;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <div className="messages" ref={end} tabIndex={0} role="log" aria-label="Conversation" aria-busy={isRunning}>
      {messages.map(({ role, content }, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: messages are only added at the end, or replaced there
        <div key={place} className={`message ${role}`}>
          <span className="visually-hidden">{role === "user" ? "You" : "Model"}: </span>
          {role === "user" ? (
            content
          ) : content === "" ? null : (
            <Suspense fallback={content}>
              <Markdown text={content} />
            </Suspense>
          )}
          {role === "assistant" && isRunning && place === messages.length - 1 ? (
            <Waiting receipt={receipt} hasText={content !== ""} />
          ) : null}
          {role === "user" && !isRunning ? (
            <Button kind="quiet" className="edit" onClick={() => onEdit(place)}>
              Edit
            </Button>
          ) : null}
        </div>
      ))}
    </div>
  );
}

/** The step that the running request waits for, and since when. */
function Waiting({ receipt, hasText }: { receipt: Receipt | null; hasText: boolean }) {
  const isOver = receipt?.signed !== undefined || receipt?.stopped;
  const what = isOver
    ? null
    : receipt?.locked === undefined
      ? "Waiting for a place at a worker, and for the block that locks the credits"
      : hasText
        ? null
        : "Locked. Waiting for the model's first token";
  const now = useNow();
  const since = useRef({ what, at: now });
  if (since.current.what !== what) since.current = { what, at: Date.now() };
  if (what === null) return null;
  const seconds = Math.max(0, Math.round((now - since.current.at) / 1_000));
  return (
    <p className="waiting">
      <span className="spinner" aria-hidden="true" /> {what}
      {seconds < 2 ? "" : `, ${seconds} s`}
    </p>
  );
}

type AskProps = {
  text: string;
  setText: (text: string) => void;
  onAsk: (text: string) => void;
  onStop: () => void;
  disabled: boolean;
  isRunning: boolean;
  price: string;
  /** Null unless an earlier message is written anew. */
  cancelEdit: (() => void) | null;
};

function Ask({ text, setText, onAsk, onStop, disabled, isRunning, price, cancelEdit }: AskProps) {
  const id = useId();
  const area = useRef<HTMLTextAreaElement>(null);
  const isEdit = cancelEdit !== null;
  useEffect(() => {
    if (isEdit) area.current?.focus();
  }, [isEdit]);
  const submit = (event: FormEvent | KeyboardEvent) => {
    event.preventDefault();
    if (!disabled && !isRunning && text.trim() !== "") onAsk(text);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) submit(event);
    if (event.key === "Escape") cancelEdit?.();
  };
  return (
    <form className="ask" onSubmit={submit}>
      <label className="visually-hidden" htmlFor={id}>
        Your message
      </label>
      <textarea
        id={id}
        ref={area}
        rows={2}
        placeholder="Ask something"
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKey}
      />
      <div className="row">
        <p className="hint">
          {isEdit ? `It replaces your message and what follows it, as a new request: ${price}` : price}
        </p>
        <div className="actions">
          {cancelEdit === null ? null : (
            <Button kind="quiet" onClick={cancelEdit}>
              Leave it as it was
            </Button>
          )}
          {isRunning ? (
            <Button onClick={onStop}>Stop</Button>
          ) : (
            <Button type="submit" kind="primary" disabled={disabled || text.trim() === ""}>
              Send
            </Button>
          )}
        </div>
      </div>
    </form>
  );
}

/** The visitor's key. It stays in the page's memory and goes to the API alone. */
function Key({ demo, value, onChange }: { demo: boolean; value: string; onChange: (key: string) => void }) {
  const [isOpen, setOpen] = useState(false);
  if (demo && !isOpen) {
    return (
      <p className="row">
        <span className="hint">Local stack: the demo account pays.</span>
        <Button kind="quiet" onClick={() => setOpen(true)}>
          Use your own key
        </Button>
      </p>
    );
  }
  return (
    <Field
      label="Your API key"
      type="password"
      className="mono"
      placeholder="svc_live_…"
      value={value}
      onChange={(event) => onChange(event.target.value.trim())}
      hint={
        <>
          It stays in this tab and is sent to the API alone. <a href="/app/settings">Create one</a> in a minute.
        </>
      }
    />
  );
}

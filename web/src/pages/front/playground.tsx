import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { quote } from "../../../../protocol/pricing.ts";
import { app } from "../../data/app.ts";
import { demoQuery, modelsQuery, networkQuery } from "../../data/queries.ts";
import type { Model } from "../../data/types.ts";
import { Button, Field, Select } from "../../ui/controls.tsx";
import { count, credits } from "../../ui/format.ts";
import { Failure } from "../../ui/page.tsx";
import { pricesOf } from "../../ui/price-table.tsx";
import { chat, type Message, type Step } from "./chat.ts";
import { type Receipt, ReceiptSteps } from "./receipt.tsx";

const LENGTHS = [250, 500, 1_000, 2_000];
const PROMPTS = ["Say hello.", "Explain an escrow in two sentences.", "Write a haiku about receipts."];
/** Cheap and quick: what is asked first where no model is known to answer, only text generators. */
const FIRST = "qwen3-8b";

/** Chat with any model, and see lock, signature, settlement and price as they come. */
export function Playground() {
  const catalog = useQuery(modelsQuery);
  const models = catalog.data?.data.filter((model) => model.active_workers > 0) ?? [];
  const demo = useQuery({ ...demoQuery, enabled: app.development }).data?.api_key ?? null;
  const [name, setName] = useState<string | null>(null);
  const [length, setLength] = useState(500);
  const [ownKey, setOwnKey] = useState("");
  const apiKey = ownKey || demo;
  const { messages, receipt, isRunning, send, stop, clear } = useChat();
  const first = models.find(({ demo }) => !demo) ?? models.find(({ id }) => id === FIRST) ?? models[0];
  const model = models.find(({ id }) => id === name) ?? first;
  const ask = (text: string) => {
    if (model === undefined || apiKey === null || isRunning || text.trim() === "") return;
    const most = quote(length, pricesOf(model));
    void send({ apiKey, model: model.id, maxTokens: length, text: text.trim(), most });
  };
  return (
    <section className="playground card" aria-label="Playground">
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
            <Button kind="quiet" disabled={isRunning} onClick={clear}>
              New chat
            </Button>
          ) : null}
        </div>
        {model?.demo ? <DemoNotice /> : null}
        <Talk messages={messages} isRunning={isRunning} />
        {receipt?.failure === undefined ? null : <Failure told={{ title: "No answer", text: receipt.failure }} />}
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
          onAsk={ask}
          disabled={apiKey === null || model === undefined}
          isRunning={isRunning}
          onStop={stop}
          price={model === undefined ? "" : priceOf(model, length)}
        />
        <Key demo={demo !== null} value={ownKey} onChange={setOwnKey} />
      </div>
      <div className="paid">
        <h3>The charge, live</h3>
        <ReceiptSteps receipt={receipt} />
      </div>
    </section>
  );
}

/** Says that no model answers, and how to connect one. */
const DemoNotice = () => (
  <p className="hint">
    Demo text: no model answers here. Start Ollama, llama-server, vLLM or LM Studio on this machine and run{" "}
    <code>npm start</code> again, or name a server with <code>npm start -- --backend URL</code>.
  </p>
);

/** What an answer costs at least and at most. */
function priceOf(model: Model, length: number): string {
  const [least, most] = [model.credits_per_request, quote(length, pricesOf(model))];
  return least === most ? `costs ${credits(least)}` : `costs ${credits(least)} at least, ${credits(most)} at most`;
}

/** The conversation and the receipt of its last request. */
function useChat() {
  const cache = useQueryClient();
  const [messages, setMessages] = useState<Message[]>([]);
  const [receipt, setReceipt] = useState<Receipt | null>(null);
  const [running, setRunning] = useState<AbortController | null>(null);
  useEffect(() => () => running?.abort(), [running]);

  type Sent = { apiKey: string; model: string; maxTokens: number; text: string; most: number };
  const send = async ({ text, most, ...asked }: Sent) => {
    const abort = new AbortController();
    const history: Message[] = [...messages.filter(({ content }) => content !== ""), { role: "user", content: text }];
    const begin = performance.now();
    setMessages([...history, { role: "assistant", content: "" }]);
    setReceipt({ most });
    setRunning(abort);
    const told = (step: Step) => {
      const ms = performance.now() - begin;
      if (step.step === "text") {
        setMessages((all) => all.with(-1, { role: "assistant", content: (all.at(-1)?.content ?? "") + step.text }));
      } else if (step.step === "tokens") setReceipt((before) => before && { ...before, tokens: step.tokens });
      else setReceipt((before) => before && { ...before, [step.step]: { ...step, ms } });
      if (step.step === "settled") void cache.invalidateQueries({ queryKey: networkQuery.queryKey });
    };
    try {
      await chat({ ...asked, messages: history }, told, abort.signal);
    } catch (error) {
      const failure = abort.signal.aborted
        ? "You stopped listening. The job runs to its end, and its page shows the charge."
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
  return { messages, receipt, isRunning: running !== null, send, stop: () => running?.abort(), clear };
}

function Talk({ messages, isRunning }: { messages: readonly Message[]; isRunning: boolean }) {
  const end = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each new text scrolls to the end
  useEffect(() => {
    if (end.current !== null) end.current.scrollTop = end.current.scrollHeight;
  }, [messages]);
  if (messages.length === 0) return null;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <div className="messages" ref={end} tabIndex={0} role="log" aria-label="Conversation" aria-busy={isRunning}>
      {messages.map(({ role, content }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: messages are only added
        <div key={index} className={`message ${role}`}>
          <span className="visually-hidden">{role === "user" ? "You" : "Model"}: </span>
          {content}
          {role === "assistant" && content === "" && isRunning ? <span className="spinner" /> : null}
        </div>
      ))}
    </div>
  );
}

type AskProps = {
  onAsk: (text: string) => void;
  onStop: () => void;
  disabled: boolean;
  isRunning: boolean;
  price: string;
};

function Ask({ onAsk, onStop, disabled, isRunning, price }: AskProps) {
  const id = useId();
  const [text, setText] = useState("");
  const submit = (event: FormEvent | KeyboardEvent) => {
    event.preventDefault();
    if (disabled || isRunning || text.trim() === "") return;
    onAsk(text);
    setText("");
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) submit(event);
  };
  return (
    <form className="ask" onSubmit={submit}>
      <label className="visually-hidden" htmlFor={id}>
        Your message
      </label>
      <textarea
        id={id}
        rows={2}
        placeholder="Ask something"
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKey}
      />
      <div className="row">
        <p className="hint">{price}</p>
        {isRunning ? (
          <Button onClick={onStop}>Stop</Button>
        ) : (
          <Button type="submit" kind="primary" disabled={disabled || text.trim() === ""}>
            Send
          </Button>
        )}
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

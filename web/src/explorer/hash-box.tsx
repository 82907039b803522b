import { useId, useState } from "react";
import { Hash } from "../ui/copy.tsx";
import { Notice } from "../ui/page.tsx";
import { hashOfFile, hashOfText } from "./answer-hash.ts";

/** Pasted text or a file, and its hash. `onHash` gets null while there is neither. */
export function AnswerInput({ label, onHash }: { label: string; onHash: (hash: string | null) => void }) {
  const id = useId();
  const [text, setText] = useState("");
  const [file, setFile] = useState<string | null>(null);
  const typed = (value: string) => {
    setText(value);
    setFile(null);
    onHash(value === "" ? null : hashOfText(value));
  };
  const chosen = async (given: File | undefined) => {
    if (given === undefined) return;
    setText("");
    setFile(given.name);
    onHash(await hashOfFile(given));
  };
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <textarea id={id} rows={4} spellCheck={false} value={text} onChange={(event) => typed(event.target.value)} />
      <p className="hint">
        <label className="file">
          or choose a file
          <input type="file" onChange={(event) => void chosen(event.target.files?.[0])} />
        </label>
        {file === null ? " The text stays in your browser; only its hash is used." : ` Hashed: ${file}`}
      </p>
    </div>
  );
}

/** Compares a text with what the worker signed. */
export function HashBox({ proofs }: { proofs: readonly string[] }) {
  const [hash, setHash] = useState<string | null>(null);
  const match = hash !== null && proofs.includes(hash);
  return (
    <>
      <AnswerInput label="Answer as you received it" onHash={setHash} />
      <div aria-live="polite">
        {hash === null ? null : (
          <>
            <p className="row-start">
              Its hash: <Hash value={hash} what="hash of the text" />
            </p>
            {proofs.length === 0 ? (
              <Notice tone="info">There is no proof here to compare it with.</Notice>
            ) : match ? (
              <Notice tone="good" title="This is the answer the worker signed">
                <p>Its SHA-256 equals the proof on the chain.</p>
              </Notice>
            ) : (
              <Notice tone="warn" title="This is another text than the worker signed">
                <p>Every character counts, spaces included. Copy the whole answer, then compare again.</p>
              </Notice>
            )}
          </>
        )}
      </div>
    </>
  );
}

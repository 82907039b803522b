import { type ReactNode, useId, useState } from "react";
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
      <label className="file">
        or choose a file
        <input type="file" onChange={(event) => void chosen(event.target.files?.[0])} />
      </label>
      <p className="hint">
        {file === null ? "The text stays in your browser; only its hash is used." : `Hashed: ${file}`}
      </p>
    </div>
  );
}

/** The hash of a given text, and what follows from it. */
export const HashOf = ({ hash, children }: { hash: string; children?: ReactNode }) => (
  <p className="row-start">
    Its hash: <Hash value={hash} what="hash of the text" />
    {children}
  </p>
);

/** The hash that a worker signed for a job. */
export type Proof = { jobId: string; hash: string };

/** Compares a text with what workers signed, and says for which job one signed it. */
export function HashBox({ proofs }: { proofs: readonly Proof[] }) {
  const [hash, setHash] = useState<string | null>(null);
  const matches = [...new Set(proofs.filter((proof) => proof.hash === hash).map(({ jobId }) => jobId))];
  return (
    <>
      <AnswerInput label="Answer as you received it" onHash={setHash} />
      <div aria-live="polite">
        {hash === null ? null : (
          <>
            <HashOf hash={hash} />
            {proofs.length === 0 ? (
              <Notice tone="info">There is no proof here to compare it with.</Notice>
            ) : matches.length > 0 ? (
              <Notice tone="good" title="This is the answer the worker signed">
                <p className="row-start">
                  Its SHA-256 equals the proof on the chain of{" "}
                  {matches.map((jobId) => (
                    <Hash key={jobId} value={jobId} what="job id" to={`/app/jobs/${jobId}`} />
                  ))}
                </p>
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

import { useId, useState } from "react";
import { Segments } from "./controls.tsx";
import { Code } from "./copy.tsx";
import { type SampleBody, samplesOf } from "./samples.ts";

/** The language that the visitor chose last, on any page with code. */
const KEPT = "language";

/** A request in three languages, as one pastes it; without a body it is a first one. */
export function FirstCall({ model, body }: { model: string; body?: SampleBody }) {
  const all = samplesOf(body ?? { model, messages: [{ role: "user", content: "Say hello." }] });
  const [language, setLanguage] = useState(() => localStorage.getItem(KEPT) ?? "curl");
  const id = useId();
  const text = all[language] ?? all["curl"] ?? "";
  const choose = (name: string) => {
    localStorage.setItem(KEPT, name);
    setLanguage(name);
  };
  return (
    <>
      <Segments
        legend="Language"
        name={id}
        options={Object.keys(all).map((name) => [name, name])}
        value={language}
        choose={choose}
      />
      <Code text={text} what={`${language} code`} />
    </>
  );
}

import { useState } from "react";
import { app } from "../../data/app.ts";
import { Segments } from "../../ui/controls.tsx";
import { Code } from "../../ui/copy.tsx";

const MODEL = "qwen3-8b";

/** A first call in three languages, as one pastes it; the service's own address is in it. */
function samples(): Record<string, string> {
  const { base_url } = app;
  return {
    curl: `curl ${base_url}/v1/chat/completions \\
  -H "Authorization: Bearer $SERVICE_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"model": "${MODEL}", "messages": [{"role": "user", "content": "Say hello."}]}'`,
    Python: `import os
from openai import OpenAI

client = OpenAI(base_url="${base_url}/v1", api_key=os.environ["SERVICE_API_KEY"])
reply = client.chat.completions.create(
    model="${MODEL}",
    messages=[{"role": "user", "content": "Say hello."}],
)
print(reply.choices[0].message.content)`,
    JavaScript: `import OpenAI from "openai";

const openai = new OpenAI({ baseURL: "${base_url}/v1", apiKey: process.env.SERVICE_API_KEY });
const reply = await openai.chat.completions.create({
  model: "${MODEL}",
  messages: [{ role: "user", content: "Say hello." }],
});
console.log(reply.choices[0].message.content);`,
  };
}

export function FirstCall() {
  const all = samples();
  const [language, setLanguage] = useState("curl");
  const text = all[language] ?? "";
  return (
    <>
      <Segments
        legend="Language"
        name="language"
        options={Object.keys(all).map((name) => [name, name])}
        value={language}
        choose={setLanguage}
      />
      <Code text={text} what={`${language} code`} />
    </>
  );
}

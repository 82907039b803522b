import { useState } from "react";

const THEMES = { system: "System", light: "Light", dark: "Dark" };
const YEAR_SECONDS = 31_536_000;

/** Light or dark, as the system says or as the reader does. A cookie keeps it: the server writes it into each page before it is shown. */
export function ThemeSwitch() {
  const { dataset } = document.documentElement;
  const [theme, setTheme] = useState<string>(dataset["theme"] ?? "system");
  const choose = (chosen: string) => {
    setTheme(chosen);
    const isSystem = chosen === "system";
    if (isSystem) delete dataset["theme"];
    else dataset["theme"] = chosen;
    // biome-ignore lint/suspicious/noDocumentCookie: the cookie store is missing on pages that are not served over HTTPS
    document.cookie = `theme=${chosen}; path=/; samesite=lax; max-age=${isSystem ? 0 : YEAR_SECONDS}`;
  };
  return (
    <fieldset className="segments">
      <legend className="visually-hidden">Theme</legend>
      {Object.entries(THEMES).map(([one, label]) => (
        <label key={one}>
          <input type="radio" name="theme" checked={one === theme} onChange={() => choose(one)} />
          {label}
        </label>
      ))}
    </fieldset>
  );
}

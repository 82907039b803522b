import { useQuery } from "@tanstack/react-query";
import { type KeyboardEvent, useEffect, useId, useState } from "react";
import { useNavigate } from "react-router";
import type { FoundHash } from "../../contract.ts";
import { app } from "../data/app.ts";
import { foundQuery, modelsQuery } from "../data/queries.ts";
import { Dialog } from "../ui/dialog.tsx";
import { short } from "../ui/format.ts";
import { hashOf, type Place, placesNamed, placesOf } from "./find.ts";

/** The pages that are offered before anything is typed. */
const PAGES: Place[] = [
  { kind: "Page", label: "Explorer: latest jobs and transactions", path: "/app/explorer" },
  { kind: "Page", label: "Network: workers and operators", path: "/app/workers" },
  { kind: "Page", label: "Models and prices", path: "/app/models" },
  { kind: "Page", label: "Disputes: open and ended", path: "/app/disputes" },
  { kind: "Page", label: "Governance: proposals, votes, treasury", path: "/app/governance" },
];

/** The documentation has a search of its own, on pages outside of the application. */
const documented = (text: string): Place[] =>
  text.trim().length < 2
    ? []
    : [
        {
          kind: "Guide",
          label: `Search guide and reference for “${text.trim()}”`,
          path: `/docs/search?q=${encodeURIComponent(text.trim())}`,
        },
      ];

const pagesNamed = (text: string) =>
  PAGES.filter(({ label }) => label.toLowerCase().includes(text.trim().toLowerCase()));

/** The places that a hash can lead to, once the service has looked it up. */
const placesOfHash = (hash: string, { transaction, block, jobs }: FoundHash): Place[] => [
  ...(transaction ? [{ kind: "Transaction", label: hash, path: `/app/tx/${hash}` }] : []),
  ...(block === null ? [] : [{ kind: "Block", label: String(block), path: `/app/block/${block}` }]),
  ...jobs.map(({ id, model }) => ({ kind: "Job with this proof", label: `${id}, ${model}`, path: `/app/jobs/${id}` })),
];

/** The one search: a combobox whose list one walks with the arrow keys. */
export function Palette({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate();
  const id = useId();
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  /** Enter was pressed before the chain had answered. */
  const [isWaiting, setWaiting] = useState(false);
  const hash = hashOf(text);
  const found = useQuery(foundQuery(hash));
  const models = useQuery(modelsQuery);
  const names = { contracts: app.contracts, models: models.data?.data.map((model) => model.id) ?? [] };
  const places =
    text.trim() === ""
      ? PAGES
      : hash !== null
        ? found.data === undefined
          ? []
          : placesOfHash(hash, found.data)
        : [...[...placesOf(text), ...pagesNamed(text), ...placesNamed(text, names)].slice(0, 12), ...documented(text)];
  const active = Math.min(chosen, places.length - 1);
  useEffect(() => {
    document.getElementById(`${id}-${active}`)?.scrollIntoView({ block: "nearest" });
  }, [id, active]);
  const go = (place: Place | undefined) => {
    if (place === undefined) return;
    onClose();
    if (place.path.startsWith("/app")) void navigate(place.path);
    else location.assign(place.path);
  };
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && places.length > 0) {
      event.preventDefault();
      setChosen((active + step + places.length) % places.length);
    } else if (event.key === "Enter") {
      event.preventDefault();
      setWaiting(hash !== null && found.isFetching);
      go(places[active]);
    }
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: the answer alone is waited for
  useEffect(() => {
    if (isWaiting) go(places[0]);
  }, [found.data]);
  const isAsking = hash !== null && found.isFetching;
  return (
    <Dialog title="Search" onClose={onClose}>
      <div className="input">
        <input
          role="combobox"
          aria-label="Job, transaction, address, block, worker, operator, model or proof hash"
          aria-expanded={places.length > 0}
          aria-controls={`${id}-list`}
          aria-autocomplete="list"
          aria-activedescendant={places.length > 0 ? `${id}-${active}` : undefined}
          className="mono"
          placeholder="job_… 0x… 1234 qwen3…"
          autoComplete="off"
          spellCheck={false}
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setChosen(0);
            setWaiting(false);
          }}
          onKeyDown={press}
        />
      </div>
      {places.length === 0 ? null : (
        <div role="listbox" id={`${id}-list`} aria-label="Places" className="found">
          {places.map((place, index) => (
            // The input keeps the focus and names the active option.
            <button
              key={place.path}
              type="button"
              tabIndex={-1}
              id={`${id}-${index}`}
              role="option"
              aria-selected={index === active}
              onClick={() => go(place)}
              onMouseMove={() => setChosen(index)}
            >
              <span className="hint">{place.kind}</span>
              <span title={place.label}>{/^0x/.test(place.label) ? short(place.label, 14, 10) : place.label}</span>
            </button>
          ))}
        </div>
      )}
      <p role="status" className="hint">
        {isAsking
          ? "Asking the chain…"
          : found.isError && hash !== null
            ? "The service could not be asked. Try again."
            : places.length > 0
              ? "Arrow keys choose, Enter opens, Escape closes."
              : "Nothing has this name, number or hash."}
      </p>
    </Dialog>
  );
}

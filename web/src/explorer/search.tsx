import { lazy, Suspense, useEffect, useState } from "react";
import { Button } from "../ui/controls.tsx";

const Palette = lazy(async () => ({ default: (await import("./palette.tsx")).Palette }));
const isApple = /Mac|iPhone|iPad/.test(navigator.userAgent);

/** Opens the search. `everywhere`: also with Ctrl+K, or ⌘K; one such button is on each page. */
export function Search({ everywhere = false }: { everywhere?: boolean }) {
  const [open, setOpen] = useState(false);
  useEffect(() => {
    if (!everywhere) return;
    const listen = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey)
        return;
      event.preventDefault();
      setOpen(true);
    };
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, [everywhere]);
  return (
    <>
      <Button
        className={everywhere ? "search" : "search wide"}
        aria-keyshortcuts="Control+K Meta+K"
        onClick={() => setOpen(true)}
      >
        <svg viewBox="0 0 16 16" aria-hidden="true">
          <path d="M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10Zm3.6-1.4L14 14" />
        </svg>
        <span>{everywhere ? "Search" : "Job, transaction, address, block, worker, model or proof hash"}</span>
        <span className="keys" aria-hidden="true">
          {isApple ? "⌘K" : "Ctrl K"}
        </span>
      </Button>
      {open ? (
        <Suspense>
          <Palette onClose={() => setOpen(false)} />
        </Suspense>
      ) : null}
    </>
  );
}

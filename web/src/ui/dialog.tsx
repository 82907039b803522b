import { type ReactNode, useId, useLayoutEffect, useRef } from "react";

/**
 * A modal dialog (the browser's own: focus stays in it, Escape closes it). At its end the focus goes back to where it was, or to the
 * page's heading if that is gone.
 */
export function Dialog({ title, onClose, children }: { title: string; onClose: () => void; children: ReactNode }) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  // A layout effect ends while the dialog is still in the page: only then does close() give the focus back.
  useLayoutEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    return () => {
      dialog?.close();
      requestAnimationFrame(() => {
        if (document.activeElement === document.body) document.querySelector("h1")?.focus();
      });
    };
  }, []);
  return (
    <dialog ref={element} aria-labelledby={id} onClose={onClose} onCancel={onClose}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}

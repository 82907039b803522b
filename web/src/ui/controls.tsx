import {
  type ButtonHTMLAttributes,
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  useId,
} from "react";

type Kind = "primary" | "plain" | "danger" | "quiet";

/** A button; while `busy` it cannot be pressed again and says so. */
export function Button({
  kind = "plain",
  busy = false,
  className = "",
  children,
  ...rest
}: ButtonHTMLAttributes<HTMLButtonElement> & { kind?: Kind; busy?: boolean }) {
  return (
    <button
      type="button"
      {...rest}
      className={`button ${kind} ${className}`}
      disabled={rest.disabled || busy}
      aria-busy={busy}
    >
      {busy ? <span className="spinner" aria-hidden="true" /> : null}
      {children}
    </button>
  );
}

/** A form that the page answers itself. */
export function Form({ onSubmit, children }: { onSubmit: () => unknown; children: ReactNode }) {
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void onSubmit();
      }}
    >
      {children}
    </form>
  );
}

type FieldProps = { label: string; hint?: ReactNode; error?: string | null | undefined };

/** A labelled input with a hint and, when it is wrong, what is wrong: for numbers, addresses and keys, which no browser should complete. */
export function Field({
  label,
  hint,
  error,
  suffix,
  ...rest
}: FieldProps & { suffix?: string } & InputHTMLAttributes<HTMLInputElement>) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <div className="input">
        <input
          id={id}
          autoComplete="off"
          spellCheck={false}
          {...rest}
          aria-invalid={error ? true : undefined}
          aria-describedby={`${id}-about`}
        />
        {suffix === undefined ? null : <span className="suffix">{suffix}</span>}
      </div>
      <p id={`${id}-about`} className={error ? "hint wrong" : "hint"}>
        {error ? error : hint}
      </p>
    </div>
  );
}

export function Select({ label, children, ...rest }: { label: string } & SelectHTMLAttributes<HTMLSelectElement>) {
  const id = useId();
  return (
    <div className="field compact">
      <label htmlFor={id}>{label}</label>
      <select id={id} {...rest}>
        {children}
      </select>
    </div>
  );
}

export function Switch({
  label,
  hint,
  checked,
  onChange,
  disabled,
}: {
  label: string;
  hint?: ReactNode;
  checked: boolean;
  onChange: (checked: boolean) => void;
  disabled?: boolean;
}) {
  const id = useId();
  return (
    <div className="switch">
      <input
        id={id}
        type="checkbox"
        role="switch"
        checked={checked}
        aria-checked={checked}
        disabled={disabled}
        aria-describedby={`${id}-about`}
        onChange={(event) => onChange(event.target.checked)}
      />
      <div>
        <label htmlFor={id}>{label}</label>
        <p id={`${id}-about`} className="hint">
          {hint}
        </p>
      </div>
    </div>
  );
}

type SegmentsProps = {
  legend: string;
  name: string;
  options: readonly (readonly [name: string, label: string])[];
  value: string;
  choose: (value: string) => void;
};

/** One of few, side by side. */
export const Segments = ({ legend, name, options, value, choose }: SegmentsProps) => (
  <fieldset className="segments">
    <legend className="visually-hidden">{legend}</legend>
    {options.map(([one, label]) => (
      <label key={one}>
        <input type="radio" name={name} checked={one === value} onChange={() => choose(one)} />
        {label}
      </label>
    ))}
  </fieldset>
);

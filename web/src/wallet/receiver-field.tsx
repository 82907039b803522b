import { isAddress } from "viem";
import { Field } from "../ui/controls.tsx";

export const NO_ADDRESS = "Not an address: 0x and 40 hex digits, with the right checksum.";

/** The fault of an address as it was typed; null if there is none. */
export const addressFault = (text: string): string | null => (isAddress(text.trim()) ? null : NO_ADDRESS);

type ReceiverProps = { label: string; name: string; value: string; own: string; onChange: (text: string) => void };

/** The field for the address to which money goes; `own` is the wallet's own address. */
export const ReceiverField = ({ label, name, value, own, onChange }: ReceiverProps) => (
  <Field
    label={label}
    name={name}
    className="mono"
    value={value}
    onChange={(event) => onChange(event.target.value)}
    error={addressFault(value)}
    hint={value.trim() === own ? "Your own wallet." : "Check it twice: this cannot be undone."}
  />
);

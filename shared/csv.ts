/** A line of a CSV file (RFC 4180). A model's id can have any character in it. */
export const csvLine = (fields: readonly (string | number | null)[]): string => `${fields.map(csvField).join(",")}\r\n`;

function csvField(value: string | number | null): string {
  const text = value === null ? "" : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

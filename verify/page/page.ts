/** The audit as one page: a form, and what was found. What the form says is kept in the address, so that it can be passed on. */
import { getAddress, isAddress } from "viem";
import { Chain, firstLine, VerifyError } from "../chain.ts";
import type { Check } from "../checks.ts";
import { verifyRange } from "../range.ts";
import { EvidenceReader } from "../reader.ts";
import { auditJobs, subjectOf } from "../subject.ts";
import { verifyWallet } from "../wallet.ts";

const find = <E extends Element>(selector: string): E => {
  const found = document.querySelector<E>(selector);
  if (found === null) throw new Error(`the page has no ${selector}`);
  return found;
};
const form = find<HTMLFormElement>("form");
const status = find<HTMLElement>("[role=status]");
const result = find<HTMLElement>("section");
const field = (name: string): string => String(new FormData(form).get(name) ?? "").trim();
const tell = (text: string): void => {
  status.textContent = text;
};

/** The findings about one job, wallet or range. */
type Found = { title: string; holds: boolean; checks: readonly Check[] };

/** Looks at what the form names. */
async function look(): Promise<{ found: Found[]; json: unknown }> {
  const name = field("subject");
  const range = /^(\d+)\s*-\s*(\d+|latest)$/.exec(name);
  const subject = range === null ? subjectOf(name) : null;
  if (!isAddress(field("escrow"))) throw new VerifyError("the escrow is not an address (or its checksum is wrong)");
  if (!/^\d{1,15}$/.test(field("start"))) throw new VerifyError("the first block is not a number");

  const chain = await Chain.open({
    rpcUrl: field("rpc"),
    escrow: getAddress(field("escrow")),
    startBlock: BigInt(field("start")),
  });
  const reader = await EvidenceReader.begin(chain);
  if (subject === null) {
    const [, first = "", last = ""] = range ?? [];
    const to = last === "latest" ? chain.head : BigInt(last);
    const onPiece = async ({ next, counts }: { next: bigint; counts: { touched: number } }): Promise<void> => {
      tell(`Block ${next - 1n} of ${to}: ${counts.touched} jobs`);
      // The page is drawn in between.
      await new Promise((resolve) => setTimeout(resolve));
    };
    const audit = await verifyRange(reader, { from: BigInt(first), to, onPiece });
    return { found: [{ ...audit, title: `blocks ${name}: ${audit.jobs.touched} jobs` }], json: audit };
  }
  if (subject.kind === "wallet") {
    const audit = await verifyWallet(reader, { wallet: subject.wallet, month: field("month") || null }, tell);
    const failing = audit.failing.map((one) => ({ ...one, title: one.job_id }));
    return { found: [{ ...audit, title: `${subject.wallet}: ${audit.jobs.audited} jobs` }, ...failing], json: audit };
  }
  // As it was hashed: the specification leaves one final newline out.
  const text = String(new FormData(form).get("text") ?? "")
    .replace(/\r\n/g, "\n")
    .replace(/\n$/, "");
  const audits = await auditJobs(reader, subject, text === "" ? null : new TextEncoder().encode(text));
  const found = audits.map((audit) => ({
    ...audit,
    title: `${audit.job_id}: ${audit.status}, ${audit.credits_charged} of ${audit.credits_locked} credits charged`,
  }));
  return { found, json: audits };
}

/** An element with this text. */
function element<N extends keyof HTMLElementTagNameMap>(name: N, text = "", className = ""): HTMLElementTagNameMap[N] {
  const made = document.createElement(name);
  made.textContent = text;
  made.className = className;
  return made;
}

function table(checks: readonly Check[]): HTMLTableElement {
  const made = element("table");
  // Checks that do not hold are shown first.
  for (const { id, holds, says } of checks.toSorted((a, b) => Number(a.holds) - Number(b.holds))) {
    const row = made.insertRow();
    row.append(element("td", holds ? "holds" : "FAILS", holds ? "" : "fails"), element("td", id), element("td", says));
  }
  return made;
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const { text: _, ...shared } = Object.fromEntries(new FormData(form)) as Record<string, string>;
  history.replaceState(null, "", `#${new URLSearchParams(shared)}`);
  const button = find<HTMLButtonElement>("button");
  button.disabled = true;
  result.replaceChildren();
  tell("Reading the chain …");
  try {
    const { found, json } = await look();
    const checks = found.flatMap((one) => one.checks);
    const failed = checks.filter(({ holds }) => !holds).length;
    tell(failed === 0 ? `All ${checks.length} checks hold.` : `${failed} of ${checks.length} checks FAIL.`);
    status.className = failed === 0 ? "" : "fails";
    for (const one of found) result.append(element("h2", one.title), table(one.checks));
    const details = element("details");
    details.append(element("summary", "JSON"), element("pre", JSON.stringify(json, null, 2)));
    result.append(details);
  } catch (error) {
    status.className = "fails";
    tell(`It could not be looked at: ${firstLine(error)}`);
  } finally {
    button.disabled = false;
  }
});

for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
  const input = form.elements.namedItem(name);
  if (input instanceof HTMLInputElement) input.value = value;
}

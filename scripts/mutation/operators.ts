/** What a mutation does to a line of Solidity. Line by line and without a parser: whatever does not compile is not counted. */

export type Mutant = {
  /** Path of the source file, from the root of the project. */
  file: string;
  /** Number of the first line it changes, from 1. */
  line: number;
  operator: string;
  before: string;
  after: string;
};

type Operator = { name: string; apply: (line: string) => string[] };

/** Each occurrence of `from` replaced on its own. */
function each(from: RegExp, to: (match: RegExpExecArray) => string | null) {
  return (line: string): string[] => {
    const code = line.split("//")[0] ?? line;
    return [...code.matchAll(new RegExp(from, "g"))].flatMap((match) => {
      const replacement = to(match as RegExpExecArray);
      if (replacement === null) return [];
      return [line.slice(0, match.index) + replacement + line.slice(match.index + match[0].length)];
    });
  };
}

const BOUNDARY: Record<string, string> = { "<": "<=", "<=": "<", ">": ">=", ">=": ">" };
const NEGATED: Record<string, string> = { "<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "==" };
const SWAPPED: Record<string, string> = { "+": "-", "-": "+", "*": "/", "/": "*", "+=": "-=", "-=": "+=" };
const COMPARISON = / (<=|>=|==|!=|<|>) /;

const OPERATORS: readonly Operator[] = [
  { name: "boundary", apply: each(/ (<=|>=|<|>) /, (m) => ` ${BOUNDARY[m[1] ?? ""]} `) },
  { name: "negation", apply: each(COMPARISON, (m) => ` ${NEGATED[m[1] ?? ""]} `) },
  { name: "and for or", apply: each(/ (&&|\|\|) /, (m) => (m[1] === "&&" ? " || " : " && ")) },
  { name: "arithmetic", apply: each(/ (\+=|-=|\+|-|\*|\/) /, (m) => ` ${SWAPPED[m[1] ?? ""]} `) },
  { name: "off by one", apply: each(/([<>]=?) ([\w.]+(?:\(\))?)\)/, (m) => `${m[1]} ${m[2]} + 1)`) },
  { name: "true for false", apply: each(/\b(true|false)\b/, (m) => (m[1] === "true" ? "false" : "true")) },
  {
    name: "removed check",
    // The check of one line, or the head of one whose revert stands on the next lines.
    apply: (line) => (/^\s*if \(.*(revert|[wW]rongState).*;$/.test(line) ? [""] : []),
  },
  {
    name: "never",
    apply: (line) => (/^\s*(\} else )?if \(.*\) \{$/.test(line) ? [line.replace(/if \(.*\) \{$/, "if (false) {")] : []),
  },
  {
    name: "removed write",
    apply: (line) =>
      /^\s*(_?state\.|account = |job = |worker\.|wallet|escrow = |o\.|c\.|config\.|dispute\.)[^=]*=[^=].*;$/.test(line)
        ? [""]
        : [],
  },
  {
    name: "removed call",
    apply: (line) =>
      /^\s*(_?state\.\w+\(|_require\w*\(|_check\w*\(|_atLeast\(|_grant\(|_count\(|STAKE_TOKEN\.|TOKEN\.).*\);$/.test(
        line,
      )
        ? [""]
        : [],
  },
  { name: "removed status", apply: each(/\.to\([\w.]+\)/, () => "") },
  {
    name: "removed modifier",
    apply: each(/ (nonReentrant|onlyOwner|onlyOperatorAdmin\(\w+\)|onlyWorkerOwner\(\w+\))/, () => ""),
  },
];

/** All mutants of a file. Comments, imports, events and errors are left alone. */
export function mutantsOf(file: string, text: string): Mutant[] {
  return text.split("\n").flatMap((line, i) => {
    if (/^\s*(\/\/|\*|import|pragma|event|error|using|emit|struct)/.test(line)) return [];
    return OPERATORS.flatMap(({ name, apply }) =>
      apply(line).map((after) => ({ file, line: i + 1, operator: name, before: line.trim(), after: after.trim() })),
    );
  });
}

/** The file with the mutant in it. */
export function applied(text: string, mutant: Mutant): string {
  const lines = text.split("\n");
  const line = lines[mutant.line - 1] ?? "";
  lines[mutant.line - 1] = `${/^\s*/.exec(line)?.[0] ?? ""}${mutant.after}`;
  return lines.join("\n");
}

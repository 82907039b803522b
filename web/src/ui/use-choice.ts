import { useSearchParams } from "react-router";

/** One of the options, by its name; the address holds it. Anything else there counts as `unless`. */
export function useChoice<Name extends string>(
  name: string,
  options: Readonly<Record<Name, unknown>>,
  unless: NoInfer<Name>,
): [Name, (chosen: string) => void] {
  const [search, setSearch] = useSearchParams();
  const given = search.get(name);
  const choose = (chosen: string) => {
    const next = new URLSearchParams(search);
    next.set(name, chosen);
    setSearch(next, { replace: true });
  };
  const isOption = (text: string | null): text is Name => text !== null && Object.hasOwn(options, text);
  return [isOption(given) ? given : unless, choose];
}

import { useMutation, useQueryClient } from "@tanstack/react-query";

/** Has the service change what it keeps of this wallet, which is then read anew. `onDone` runs after that. */
export function useChange<Given = void, Answer = unknown>(
  change: (given: Given) => Promise<Answer>,
  onDone?: (answer: Answer) => unknown,
) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSuccess: async (answer) => {
      await cache.invalidateQueries({ queryKey: ["own"] });
      await onDone?.(answer);
    },
  });
}

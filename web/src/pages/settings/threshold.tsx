import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "../../data/client.ts";
import { settingsQuery } from "../../data/queries.ts";
import { tellFailure } from "../../data/told.ts";
import { readCredits } from "../../ui/amount.ts";
import { Button, Field } from "../../ui/controls.tsx";
import { Loaded } from "../../ui/loaded.tsx";
import { Card, Failure, Notice } from "../../ui/page.tsx";

const MOST = 1_000_000_000;

/** When the event `credit.low` fires. */
export function Threshold() {
  const settings = useQuery(settingsQuery);
  return (
    <Card title="Low-credit warning">
      <Loaded query={settings} rows={1} height={92}>
        {({ low_credit_threshold }) => <ThresholdForm current={low_credit_threshold} />}
      </Loaded>
    </Card>
  );
}

function ThresholdForm({ current }: { current: number }) {
  const cache = useQueryClient();
  const [text, setText] = useState(String(current));
  const { value, error } = readCredits(text, { least: 0, most: MOST });
  const save = useMutation({
    mutationFn: (low_credit_threshold: number) => call("PUT", "/settings", { low_credit_threshold }),
    onSuccess: () => cache.invalidateQueries({ queryKey: settingsQuery.queryKey }),
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (value !== null) save.mutate(value);
      }}
    >
      <Field
        label="Warn below"
        name="threshold"
        inputMode="numeric"
        suffix="credits"
        value={text}
        onChange={(event) => setText(event.target.value)}
        error={error}
        hint="The event credit.low is sent when free and escrowed credits together fall below it. 0 turns it off."
      />
      <Button type="submit" kind="primary" busy={save.isPending} disabled={value === null || value === current}>
        Save
      </Button>
      {save.error ? <Failure told={tellFailure(save.error)} /> : null}
      {save.isSuccess ? <Notice tone="good">Saved.</Notice> : null}
    </form>
  );
}

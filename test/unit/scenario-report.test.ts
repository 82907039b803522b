import { expect, it } from "vitest";
import { reportOf, type Scenario } from "../scenarios/scenario.ts";

const scenario: Scenario = { name: "storm", does: "", options: {}, run: async () => ({ problems: [] }) };

it("shows what was done as a table, all else as JSON, and the verdict last", () => {
  const rows = [
    { step: "kill", seconds: 1.5 },
    { step: "wait", seconds: 20 },
  ];
  expect(reportOf(scenario, { rows, requests: 7, problems: [] }).split("\n")).toEqual([
    "| step | seconds |",
    "| --- | ---: |",
    "| kill | 1.5 |",
    "| wait | 20 |",
    "{",
    '  "requests": 7,',
    '  "problems": []',
    "}",
    "verdict: storm holds",
  ]);
});

it("counts the problems in the verdict", () => {
  expect(reportOf(scenario, { problems: ["one", "two"] })).toMatch(/verdict: storm has 2 problems$/);
});

import { expect, it } from "vitest";
import { reportOf } from "../../scenarios/scenario.ts";

it("shows what was done as a table, all else as JSON, and the verdict last", () => {
  const rows = [
    { step: "kill", seconds: 1.5 },
    { step: "wait", seconds: 20 },
  ];
  expect(reportOf("storm", { rows, requests: 7, problems: [] }).split("\n")).toEqual([
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
  expect(reportOf("storm", { problems: ["one", "two"] })).toMatch(/verdict: storm has 2 problems$/);
});

import { expect, it } from "vitest";
import { PreconfirmationLimit, preconfirmationLimit } from "../../../shared/preconfirmation-limit.ts";

it.each([
  [100, true],
  [101, false],
])("a job of %i credits has room: %s", (credits, hasRoom) => {
  expect(new PreconfirmationLimit({ each: 100, all: 1_000 }).take(credits) !== null).toBe(hasRoom);
});

it("all jobs together have at most the limit; what is given back counts once", () => {
  const limit = new PreconfirmationLimit({ each: 100, all: 250 });
  const giveBack = limit.take(100) as () => void;
  expect(limit.take(100)).not.toBeNull();
  expect(limit.take(51)).toBeNull();
  expect(limit.take(50)).not.toBeNull();
  giveBack();
  giveBack();
  expect(limit.take(100)).not.toBeNull();
  expect(limit.take(1)).toBeNull();
});

it("a setting of `latest` leaves no room for any job", () => {
  const limit = preconfirmationLimit("latest", 100, 1_000);
  expect(limit.isClosed).toBe(true);
  expect(limit.take(0)).toBeNull();
  expect(preconfirmationLimit("preconfirmed", 100, 1_000).take(100)).not.toBeNull();
});

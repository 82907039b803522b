import { everything, type Story } from "../support/everything.ts";
import { Stage } from "../support/stage.ts";

/** A chain on which everything happens, indexed live from its first event on. */
export type Live = { stage: Stage; story: Story };

export async function openLive(): Promise<Live> {
  const stage = await Stage.open();
  await stage.startIndexer();
  const story = await everything(stage.world);
  await stage.caughtUp();
  return { stage, story };
}

import { HOSTILE } from "../client/support/hostile-stack.ts";
import { startBrowser } from "../web/support/chromium.ts";
import { WEB } from "../web/support/service.ts";
import { SERVICE } from "./service.ts";
import { share, stackOf } from "./sharing.ts";

export default share({
  service: stackOf(SERVICE),
  hostile: stackOf(HOSTILE),
  web: stackOf(WEB),
  browser: startBrowser,
});

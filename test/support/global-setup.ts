import { HOSTILE } from "../client/support/hostile-stack.ts";
import { startBrowser } from "../web/support/chromium.ts";
import { WEB } from "../web/support/web-stack.ts";
import { SERVICE } from "./service-stack.ts";
import { share, stackOf } from "./shared-fixtures.ts";

export default share({
  service: stackOf(SERVICE),
  hostile: stackOf(HOSTILE),
  web: stackOf(WEB),
  browser: startBrowser,
});

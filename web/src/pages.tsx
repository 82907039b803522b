import { type ComponentType, lazy } from "react";
import { BrowserRouter, Link, Route, Routes } from "react-router";
import { PATHS } from "../../shared/web-paths.ts";
import { Search } from "./explorer/search.tsx";
import { Shell } from "./shell.tsx";
import { Page } from "./ui/page.tsx";
import { Unbroken } from "./ui/unbroken.tsx";

/** A component whose code is loaded when it is shown first. */
const loaded = (file: () => Promise<ComponentType>) => lazy(async () => ({ default: await file() }));

const OwnPages = loaded(() => import("./wallet/own-pages.tsx").then((file) => file.OwnPages));

// Each page's code is loaded alone, without the code for wallets.
const PUBLIC: Routed[] = [
  [PATHS.front, loaded(() => import("./pages/front.tsx").then((file) => file.Front))],
  [PATHS.job, loaded(() => import("./pages/job.tsx").then((file) => file.JobPage))],
  [PATHS.transaction, loaded(() => import("./pages/transaction.tsx").then((file) => file.TransactionPage))],
  [PATHS.explorer, loaded(() => import("./pages/explorer.tsx").then((file) => file.Explorer))],
  [PATHS.status, loaded(() => import("./pages/status.tsx").then((file) => file.StatusPage))],
  [PATHS.joblist, loaded(() => import("./pages/joblist.tsx").then((file) => file.JobList))],
  [PATHS.transactions, loaded(() => import("./pages/transactions.tsx").then((file) => file.Transactions))],
  [PATHS.models, loaded(() => import("./pages/models.tsx").then((file) => file.Models))],
  [PATHS.model, loaded(() => import("./pages/model.tsx").then((file) => file.ModelPage))],
  [PATHS.workers, loaded(() => import("./pages/workers.tsx").then((file) => file.Workers))],
  [PATHS.worker, loaded(() => import("./pages/worker.tsx").then((file) => file.WorkerPage))],
  [PATHS.operator, loaded(() => import("./pages/operator.tsx").then((file) => file.OperatorPage))],
  [PATHS.disputes, loaded(() => import("./pages/disputes.tsx").then((file) => file.Disputes))],
  [PATHS.dispute, loaded(() => import("./pages/dispute.tsx").then((file) => file.DisputePage))],
  [PATHS.governance, loaded(() => import("./pages/governance.tsx").then((file) => file.GovernancePage))],
  [PATHS.block, loaded(() => import("./pages/block.tsx").then((file) => file.BlockPage))],
  [PATHS.address, loaded(() => import("./pages/address.tsx").then((file) => file.AddressPage))],
];

/** Pages of the signed-in wallet. */
const OWN: Routed[] = [
  [PATHS.overview, loaded(() => import("./pages/overview.tsx").then((file) => file.Overview))],
  [PATHS.fund, loaded(() => import("./pages/fund.tsx").then((file) => file.Fund))],
  [PATHS.jobs, loaded(() => import("./pages/jobs.tsx").then((file) => file.Jobs))],
  [PATHS.statement, loaded(() => import("./pages/statement.tsx").then((file) => file.StatementPage))],
  [PATHS.settings, loaded(() => import("./pages/settings.tsx").then((file) => file.Settings))],
  [PATHS.webhooks, loaded(() => import("./pages/webhooks.tsx").then((file) => file.Webhooks))],
  [PATHS.webhook, loaded(() => import("./pages/webhook.tsx").then((file) => file.WebhookPage))],
  [PATHS.desk, loaded(() => import("./pages/my-workers.tsx").then((file) => file.MyWorkers))],
  [PATHS.deskWorker, loaded(() => import("./pages/my-worker.tsx").then((file) => file.MyWorker))],
];

type Routed = [path: string, page: ComponentType];

const routesOf = (pages: readonly Routed[]) =>
  pages.map(([path, Page]) => <Route key={path} path={path} element={<Page />} />);

export const Pages = () => (
  <BrowserRouter>
    <Unbroken place="">
      <Routes>
        <Route element={<Shell />}>
          {routesOf(PUBLIC)}
          <Route element={<OwnPages />}>{routesOf(OWN)}</Route>
          <Route path="*" element={<NotFound />} />
        </Route>
      </Routes>
    </Unbroken>
  </BrowserRouter>
);

function NotFound() {
  return (
    <Page title="No such page">
      <p>
        There is nothing at this address. Search for what you meant, or{" "}
        <Link to={PATHS.front}>go to the front page</Link>.
      </p>
      <Search />
    </Page>
  );
}

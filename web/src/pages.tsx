import { type ComponentType, lazy } from "react";
import { BrowserRouter, Link, Route, Routes } from "react-router";
import { PATHS } from "../../shared/web-paths.ts";
import { Shell } from "./shell.tsx";
import { Page } from "./ui/page.tsx";
import { Unbroken } from "./ui/unbroken.tsx";

/** A component whose code is loaded when it is shown first. */
const loaded = (file: () => Promise<ComponentType>) => lazy(async () => ({ default: await file() }));

// Each page's code is loaded alone, without the code for wallets.
const OwnPages = loaded(() => import("./wallet/own-pages.tsx").then((file) => file.OwnPages));
const Front = loaded(() => import("./pages/front.tsx").then((file) => file.Front));
const Overview = loaded(() => import("./pages/overview.tsx").then((file) => file.Overview));
const Fund = loaded(() => import("./pages/fund.tsx").then((file) => file.Fund));
const Jobs = loaded(() => import("./pages/jobs.tsx").then((file) => file.Jobs));
const Settings = loaded(() => import("./pages/settings.tsx").then((file) => file.Settings));
const Webhooks = loaded(() => import("./pages/webhooks.tsx").then((file) => file.Webhooks));
const WebhookPage = loaded(() => import("./pages/webhook.tsx").then((file) => file.WebhookPage));
const MyWorkers = loaded(() => import("./pages/my-workers.tsx").then((file) => file.MyWorkers));
const MyWorker = loaded(() => import("./pages/my-worker.tsx").then((file) => file.MyWorker));
const JobPage = loaded(() => import("./pages/job.tsx").then((file) => file.JobPage));
const TransactionPage = loaded(() => import("./pages/transaction.tsx").then((file) => file.TransactionPage));
const Explorer = loaded(() => import("./pages/explorer.tsx").then((file) => file.Explorer));
const Models = loaded(() => import("./pages/models.tsx").then((file) => file.Models));
const ModelPage = loaded(() => import("./pages/model.tsx").then((file) => file.ModelPage));
const Workers = loaded(() => import("./pages/workers.tsx").then((file) => file.Workers));
const WorkerPage = loaded(() => import("./pages/worker.tsx").then((file) => file.WorkerPage));
const OperatorPage = loaded(() => import("./pages/operator.tsx").then((file) => file.OperatorPage));
const Disputes = loaded(() => import("./pages/disputes.tsx").then((file) => file.Disputes));
const DisputePage = loaded(() => import("./pages/dispute.tsx").then((file) => file.DisputePage));
const Governance = loaded(() => import("./pages/governance.tsx").then((file) => file.GovernancePage));
const BlockPage = loaded(() => import("./pages/block.tsx").then((file) => file.BlockPage));
const AddressPage = loaded(() => import("./pages/address.tsx").then((file) => file.AddressPage));

export const Pages = () => (
  <BrowserRouter>
    <Unbroken place="">
      <Routes>
        <Route element={<Shell />}>
          <Route path={PATHS.front} element={<Front />} />
          <Route element={<OwnPages />}>
            <Route path={PATHS.overview} element={<Overview />} />
            <Route path={PATHS.fund} element={<Fund />} />
            <Route path={PATHS.jobs} element={<Jobs />} />
            <Route path={PATHS.settings} element={<Settings />} />
            <Route path={PATHS.webhooks} element={<Webhooks />} />
            <Route path={PATHS.webhook} element={<WebhookPage />} />
            <Route path={PATHS.desk} element={<MyWorkers />} />
            <Route path={PATHS.deskWorker} element={<MyWorker />} />
          </Route>
          <Route path={PATHS.job} element={<JobPage />} />
          <Route path={PATHS.transaction} element={<TransactionPage />} />
          <Route path={PATHS.explorer} element={<Explorer />} />
          <Route path={PATHS.models} element={<Models />} />
          <Route path={PATHS.model} element={<ModelPage />} />
          <Route path={PATHS.workers} element={<Workers />} />
          <Route path={PATHS.worker} element={<WorkerPage />} />
          <Route path={PATHS.operator} element={<OperatorPage />} />
          <Route path={PATHS.disputes} element={<Disputes />} />
          <Route path={PATHS.dispute} element={<DisputePage />} />
          <Route path={PATHS.governance} element={<Governance />} />
          <Route path={PATHS.block} element={<BlockPage />} />
          <Route path={PATHS.address} element={<AddressPage />} />
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
        There is nothing at this address. <Link to={PATHS.front}>Go to the front page</Link>.
      </p>
    </Page>
  );
}

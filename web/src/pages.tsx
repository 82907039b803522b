import type { ReactNode } from "react";
import { createBrowserRouter, Link, RouterProvider, useRouteError } from "react-router";
import { PATHS } from "../../shared/web-paths.ts";
import { Explorer } from "./pages/explorer.tsx";
import { Fund } from "./pages/fund.tsx";
import { JobPage } from "./pages/job.tsx";
import { Jobs } from "./pages/jobs.tsx";
import { Models } from "./pages/models.tsx";
import { Overview } from "./pages/overview.tsx";
import { Settings } from "./pages/settings.tsx";
import { TransactionPage } from "./pages/transaction.tsx";
import { WebhookPage } from "./pages/webhook.tsx";
import { Webhooks } from "./pages/webhooks.tsx";
import { Workers } from "./pages/workers.tsx";
import { Own, Shell } from "./shell.tsx";
import { Failure, Page } from "./ui/page.tsx";

const own = (title: string, reason: string, page: ReactNode) => (
  <Own title={title} reason={reason}>
    {page}
  </Own>
);

const router = createBrowserRouter(
  [
    {
      element: <Shell />,
      errorElement: <Broken />,
      children: [
        { path: PATHS.overview, element: own("Overview", "See your balance, usage and latest jobs.", <Overview />) },
        { path: PATHS.fund, element: own("Fund", "Buy and withdraw credits.", <Fund />) },
        { path: PATHS.jobs, element: own("Jobs", "See what each request cost.", <Jobs />) },
        {
          path: PATHS.settings,
          element: own("Settings", "Manage your API key and limit your spending.", <Settings />),
        },
        { path: PATHS.webhooks, element: own("Webhooks", "Have events sent to your server.", <Webhooks />) },
        { path: PATHS.webhook, element: own("Webhook", "See what was sent.", <WebhookPage />) },
        { path: PATHS.job, element: <JobPage /> },
        { path: PATHS.transaction, element: <TransactionPage /> },
        { path: PATHS.explorer, element: <Explorer /> },
        { path: PATHS.models, element: <Models /> },
        { path: PATHS.workers, element: <Workers /> },
        { path: "*", element: <NotFound /> },
      ],
    },
  ],
  { basename: "/app" },
);

export const Pages = () => <RouterProvider router={router} />;

function NotFound() {
  return (
    <Page title="No such page">
      <p>
        There is nothing at this address. <Link to="/">Go to the overview</Link>.
      </p>
    </Page>
  );
}

/** A defect of a page must not leave a blank one. */
function Broken() {
  const error = useRouteError();
  return (
    <main className="alone">
      <h1>This page broke</h1>
      <Failure told={{ title: "Reload to go on", text: error instanceof Error ? error.message : String(error) }} />
    </main>
  );
}

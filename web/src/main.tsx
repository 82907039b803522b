import { QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { createCache } from "./data/client-cache.ts";
import { Pages } from "./pages.tsx";
import "./styles/base.css";
import "./styles/layout.css";
import "./styles/parts.css";
import "./styles/pages.css";
import "./styles/explorer.css";

const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no #root");
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={createCache()}>
      <Pages />
    </QueryClientProvider>
  </StrictMode>,
);

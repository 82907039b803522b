import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

/** Near the best, in a tenth of its time. */
const QUALITY = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };

/** Leaves a .br and a .gz beside each text file: compressed once, as well as it goes, and never while someone waits. */
const compressed: Plugin = {
  name: "compressed-beside",
  writeBundle({ dir = "" }) {
    const assets = join(dir, "assets");
    for (const file of readdirSync(assets).filter((name) => /\.(js|css|svg)$/.test(name))) {
      const text = readFileSync(join(assets, file));
      writeFileSync(join(assets, `${file}.br`), brotliCompressSync(text, QUALITY));
      writeFileSync(join(assets, `${file}.gz`), gzipSync(text, { level: 9 }));
    }
  },
};

/** The web application, served by the API at /app. Build: `node scripts/build/web.ts`. */
export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  base: "/app/",
  plugins: [react(), compressed],
  resolve: {
    alias: [
      { find: /^react$/, replacement: fileURLToPath(new URL("react.mjs", import.meta.url)) },
      { find: /^react\/jsx-runtime$/, replacement: "preact/jsx-runtime" },
      { find: /^react-dom(\/client)?$/, replacement: "preact/compat$1" },
    ],
  },
  build: {
    target: "es2022",
    // The server reads there what each page needs (web/server/app.ts).
    manifest: "manifest.json",
    license: { fileName: "assets/licenses.md" },
    // The content security policy allows no inline scripts and no data: URLs but images.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 900,
    rolldownOptions: {
      // The code that every page needs is one file, and the code that decodes is another: in a dozen files it weighs more and takes more
      // requests.
      output: {
        codeSplitting: {
          groups: [
            {
              name: "base",
              test: /node_modules\/(?:preact|react-router|@tanstack)\/|web\/react\.mjs|web\/src\/shell\.tsx|web\/src\/explorer\/(?:labels|find)\.ts|rolldown\/runtime|web\/src\/wallet\/action-status\.tsx|web\/src\/(?:data|ui)\/(?!chart|markdown|range|first-call|samples|job-table|why|amount|price-table)|protocol\/(?:answer-hash|pricing|job-status|tiers|money)\.ts/,
              priority: 3,
            },
            {
              name: "ids",
              test: /protocol\/job-id\.ts|utils\/(?:address\/getAddress|hash\/sha256|stringify)\.js/,
              priority: 3,
            },
            { name: "decode", test: /web\/src\/explorer\/(?:decode|money-flow)\.tsx?/, priority: 2 },
            { name: "explorer", test: /web\/src\/explorer\/(?:events|hash-box|transaction-card)\.tsx/, priority: 1 },
          ],
        },
      },
    },
  },
});

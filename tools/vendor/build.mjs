// SPDX-License-Identifier: Apache-2.0
// Makes the committed bundle from the pinned packages, and holds it to the sums that are committed beside it.
// Run by `make vendor`; `make vendor PIN=1` writes new sums after a change of versions or of entry.js.
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const target = join(here, "../../src/armwright/recording/replay/page/vendor");
const packages = join(here, "node_modules");
const limit = 800_000; // bytes of the bundle
const version = (name) => JSON.parse(readFileSync(join(packages, name, "package.json"), "utf8")).version;
const licence = (name) => readFileSync(join(packages, name, "LICENSE"), "utf8").trim();

const made = mkdtempSync(join(tmpdir(), "armwright-vendor-"));
try {
  const heads = ["three", "uplot"].map((name) => `${name} ${version(name)}`);
  await build({
    entryPoints: [join(here, "entry.js")],
    outfile: join(made, "vendor.js"),
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    legalComments: "none",
    banner: { js: `// ${heads.join(", ")}; MIT licences in LICENSES.txt. Made by \`make vendor\`, not by hand.` },
  });
  writeFileSync(join(made, "uplot.css"), readFileSync(join(packages, "uplot/dist/uPlot.min.css")));
  const texts = ["three", "uplot"].map((name, i) => `${heads[i]}\n\n${licence(name)}\n`);
  writeFileSync(join(made, "LICENSES.txt"), texts.join(`\n${"-".repeat(80)}\n\n`));

  const files = ["vendor.js", "uplot.css", "LICENSES.txt"];
  const size = readFileSync(join(made, "vendor.js")).length;
  if (size > limit) throw new Error(`vendor.js has ${size} bytes, more than ${limit}`);
  const sums = files
    .map((file) => `${createHash("sha256").update(readFileSync(join(made, file))).digest("hex")}  ${file}\n`)
    .join("");
  mkdirSync(target, { recursive: true });
  if (process.env.PIN) writeFileSync(join(target, "SHA256SUMS"), sums);
  else if (readFileSync(join(target, "SHA256SUMS"), "utf8") !== sums)
    throw new Error(`the bundle differs from SHA256SUMS; if that is meant: make vendor PIN=1\n${sums}`);
  for (const file of files) copyFileSync(join(made, file), join(target, file));
  console.log(`vendor.js: ${size} bytes, as SHA256SUMS says`);
} finally {
  rmSync(made, { recursive: true });
}

// SPDX-License-Identifier: Apache-2.0
// Files and folders that are dropped on the page.

const MOST_FILES = 2000; // of a folder that are looked at

/** Hand over what is dropped on an element: `files` a list, `folder` [path, file] pairs. */
export function dropped(element, { files, folder }) {
  for (const type of ["dragover", "drop"])
    element.addEventListener(type, (event) => { if (event.dataTransfer?.types.includes("Files")) event.preventDefault(); });
  element.addEventListener("drop", async (event) => {
    const entries = [...(event.dataTransfer?.items ?? [])].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
    const alone = [...(event.dataTransfer?.files ?? [])];
    if (entries.some((entry) => entry.isDirectory)) {
      const found = [];
      for (const entry of entries) await walk(entry, found);
      return folder(found);
    }
    if (alone.length) files(alone);
  });
}

async function walk(entry, found) {
  if (found.length >= MOST_FILES) return;
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    found.push([entry.fullPath.replace(/^\//, ""), file]);
    return;
  }
  const reader = entry.createReader();
  for (;;) { // a reader hands over a hundred at a time
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return;
    for (const one of some) await walk(one, found);
  }
}

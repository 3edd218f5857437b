// SPDX-License-Identifier: Apache-2.0
// Robot: choose or upload an arm, judge it, jog its joints and its tool, and look at its mathematics.
import { forward, origin } from "/shared/kinematics.js";
import { choice, degrees, download, el, fixed, fmt, gently, matrix, part, slider, tick } from "/shared/ui.js";
import { ellipsoidLayer } from "./ellipsoid.js";
import { toolGizmo } from "./gizmo.js";

const OWN = " "; // stands for an arm that is not of the catalogue
const RANGE = Math.PI; // of joints without limits

export function robotTab(app) {
  let q = [], sliders = [], seen = null, gizmo = null, layer = null, branches = [];
  const show = { velocity: true, force: false, gizmo: true };
  const left = el("div"), right = el("div");

  const look = gently(async () => {
    seen = await app.link.ask("look", { q });
    draw();
  });

  /** Take a configuration: everything on the page follows. */
  function setQ(next, { from = null } = {}) {
    q = next.slice();
    app.scene?.setPose(q);
    sliders.forEach((s, i) => { if (from !== i) s.set(shown(i, q[i])); });
    if (from !== "gizmo") gizmo?.follow(forward(app.spec, q).tool);
    look();
  }
  const isTurn = (i) => app.spec.joints[i].kind === "revolute";
  const shown = (i, x) => (isTurn(i) ? degrees(x) : 1e3 * x);
  const meant = (i, x) => (isTurn(i) ? (x * Math.PI) / 180 : 1e-3 * x);

  const reach = gently(async (pose) => {
    const found = await app.link.ask("ik", { ...pose, seed: q });
    branches = found.solutions.map((solution, i) => ({ q: solution, within: found.within[i], singular: found.singular[i] }));
    drawBranches(found);
    if (found.solutions.length) setQ(found.solutions[0], { from: "gizmo" });
    else note.textContent = found.message;
  });
  const note = el("p", { class: "small muted" });
  const branchBox = el("div", { class: "branches" });

  function drawBranches(found) {
    note.textContent = found ? `${found.message} · ${found.method}` : "";
    branchBox.replaceChildren(...branches.map((branch, i) => el("button", {
      class: branch.within ? "" : "outside", "aria-label": `Branch ${i + 1}${branch.within ? "" : ", outside the limits"}`,
      title: branch.q.map((x, k) => fmt(shown(k, x))).join(", "), onclick: () => setQ(branch.q),
      onpointerenter: () => app.scene.setGhost(branch.q), onpointerleave: () => app.scene.setGhost(null),
      onfocus: () => app.scene.setGhost(branch.q), onblur: () => app.scene.setGhost(null),
    }, `${i + 1}${branch.singular ? "*" : ""}`)));
  }

  async function allBranches() {
    if (!seen) return;
    const found = await app.ask("ik", { position: seen.tool, rotation: seen.rotation, seed: q });
    branches = found.solutions.map((solution, i) => ({ q: solution, within: found.within[i], singular: found.singular[i] }));
    drawBranches(found);
  }

  /** What can be chosen of an arm that somebody brought: the file, and the link that carries the tool. */
  function ownPart() {
    const own = app.robot.own, off = !app.owner || app.onWire, back = () => makeLeft();
    if (!own) return [el("p", { class: "small muted" }, "A file may be dropped anywhere on this page; meshes come in a zip or a folder.")];
    const rows = [];
    if (own.files.length > 1)
      rows.push(choice("File", own.files.map((name) => [name, name]), own.file, (name) => app.ask("own", { file: name }).catch(back), off).row);
    if (own.links.length > 1)
      rows.push(choice("Link of the tool", [["", "the file's own, or the deepest"], ...own.links.map((name) => [name, name])], own.tip ?? "",
        (tip) => app.ask("own", tip ? { tip } : {}).catch(back), off).row);
    const said = own.notes.filter((words) => !own.tip || !words.startsWith("Tool frame")).map((words) => words.replace("; name another with tip=…", ""));
    return [...rows, ...said.map((words) => el("p", { class: "small muted" }, words))];
  }

  function makeLeft() {
    const entries = app.catalogue.map((r) => [r.name, `${r.name} – ${r.title || `${r.n} joints`}`]);
    const chosen = app.robot.catalogued ? app.spec.name : OWN; // an own arm may have the name of another
    if (chosen === OWN) entries.unshift([OWN, `${app.spec.name} – ${app.spec.joints.length} joints (yours)`]);
    const which = choice("Arm", entries, chosen, (name) => {
      app.status(`loading ${name} …`);
      app.ask("robot", { name }).catch(() => { which.select.value = chosen; app.status(); });
    }, !app.owner || app.onWire);
    const file = el("input", { type: "file", accept: ".urdf,.xml,.toml,.zip", hidden: true, id: "robot-file", "aria-label": "File of an arm",
      onchange: async () => { if (file.files[0]) await app.upload("robot", file.files[0]); file.value = ""; } });
    const folder = el("input", { type: "file", webkitdirectory: true, multiple: true, hidden: true, id: "robot-folder", "aria-label": "Folder of an arm",
      onchange: async () => { await app.openFolder([...folder.files].map((one) => [one.webkitRelativePath || one.name, one])); folder.value = ""; } });
    const findings = app.robot.findings;
    const verdict = findings.length ? `${findings.length} remarks` : "nothing to remark";
    sliders = app.spec.joints.map((joint, i) => {
      const low = shown(i, joint.lower ?? (isTurn(i) ? -RANGE : -1)), high = shown(i, joint.upper ?? (isTurn(i) ? RANGE : 1));
      return slider({
        label: joint.name, unit: isTurn(i) ? "°" : "mm", min: low, max: high, step: 0.1, after: 1, value: shown(i, q[i] ?? 0), marks: [low, high],
        oninput: (x) => { const next = q.slice(); next[i] = meant(i, x); setQ(next, { from: i }); },
      });
    });
    left.replaceChildren(
      part("Arm", which.row,
        el("div", { class: "row" },
          el("button", { onclick: () => file.click(), disabled: !app.owner || app.onWire }, "Open URDF, MJCF, sheet or zip …"), file,
          el("button", { onclick: () => folder.click(), disabled: !app.owner || app.onWire }, "… or a folder with meshes"), folder),
        ...ownPart()),
      part(`Plausibility: ${verdict}`,
        el("ul", { class: "findings" }, findings.map((f) => el("li", { class: f.severity }, el("strong", {}, f.where), ` ${f.text} `, el("span", { class: "muted" }, `[${f.rule}]`))))),
      part("Joints", ...sliders.map((s) => s.row),
        el("div", { class: "row" },
          el("button", { onclick: () => setQ(app.posture) }, "Bent"),
          el("button", { onclick: () => setQ(app.spec.joints.map((j) => Math.min(Math.max(0, j.lower ?? 0), j.upper ?? 0))) }, "Zero"),
          el("button", { onclick: () => { app.choose("live"); app.ask("goal", { q }); }, disabled: !app.owner || app.onWire }, "Send the live arm here"))),
      part("Branches of inverse kinematics",
        el("div", { class: "row" }, el("button", { onclick: allBranches }, "Find all branches of this tool pose")), branchBox, note,
        el("p", { class: "small muted" }, "Dashed: outside the limits. *: singular. Hover or focus shows one, click takes it.")),
    );
  }

  const facts = el("dl", { class: "facts" }), body = el("div");
  const options = part("On the arm",
    tick("Velocity ellipsoid (1 rad/s)", show.velocity, (on) => { show.velocity = on; draw(); }).row,
    tick("Force ellipsoid (1 N m)", show.force, (on) => { show.force = on; draw(); }).row,
    tick("Handle at the tool", show.gizmo, (on) => { show.gizmo = on; gizmo?.show(on); }).row);
  const exportWhat = choice("Equations", ["inverse_dynamics", "forward_dynamics", "mass_matrix", "coriolis_matrix", "gravity_torque", "bias", "fk", "jacobian"].map((x) => [x, x]), "mass_matrix", () => {});
  async function save(to, what) {
    app.status("writing …");
    const { text, file } = await app.ask("export", what ? { to, what } : { to }).finally(() => app.status());
    download(file, text);
  }
  const exports = part("Export", exportWhat.row,
    el("div", { class: "row" }, ["c", "latex", "numpy", "matlab", "sympy"].map((to) => el("button", { onclick: () => save(to, exportWhat.select.value) }, { c: "C", latex: "LaTeX", numpy: "NumPy", matlab: "MATLAB", sympy: "SymPy" }[to]))),
    el("div", { class: "row" }, ["urdf", "mjcf", "sheet"].map((to) => el("button", { onclick: () => save(to) }, { urdf: "URDF", mjcf: "MJCF", sheet: "Sheet" }[to]))));
  right.append(part("Tool", facts), options, body, exports);

  function draw() {
    if (!seen || app.tab !== tab) return;
    const status = { regular: "good", near: "warn", singular: "bad" }[seen.singularity.status];
    const names = app.spec.joints.map((j) => j.name), units = app.spec.joints.map((j) => (j.kind === "revolute" ? "N m" : "N"));
    const fact = (name, value, cls = "") => [el("dt", {}, name), el("dd", { class: cls }, value)];
    facts.replaceChildren(
      ...fact("Position x, y, z", `${seen.tool.map((x) => fixed(1e3 * x, 1)).join(", ")} mm`),
      ...fact("Rotation vector", `${seen.rotation.map((x) => fixed(degrees(x), 1)).join(", ")} °`),
      ...fact("Manipulability √det JJᵀ (linear)", `${fmt(seen.manipulability)} m³/s³`),
      ...fact("Distance to singularity", `${seen.singularity.status}, 1 : ${fmt(1 / Math.max(seen.singularity.ratio, 1e-12))}`, status),
    );
    facts.title = seen.singularity.message;
    const known = seen.M !== null;  // an arm for kinematics alone has no M and no g
    const load = known ? app.spec.joints.map((j, i) => [seen.g[i], j.effort]) : [];
    body.replaceChildren(
      ...(known ? [
        part("Gravity torque g(q)", matrix(load.map(([g, most]) => [g, most === null ? NaN : (100 * Math.abs(g)) / most]), { rows: names.map((n, i) => `${n} [${units[i]}]`), heads: ["g", "% of effort limit"], after: 2 })),
        part("Mass matrix M(q) [kg m²]", el("div", { class: "scroll" }, matrix(seen.M, { after: 3 }))),
      ] : [part("Dynamics", el("p", { class: "muted small" }, "The description gives no inertia: kinematics alone. Live moves the rotors that the lab assumes."))]),
      part("Jacobian of the tool, base axes", el("div", { class: "scroll" }, matrix(seen.J, { rows: ["vx m", "vy m", "vz m", "ωx", "ωy", "ωz"], heads: names, after: 3 }))),
      ...(known ? [part("Joint reactions at rest, joint axes", el("div", { class: "scroll" }, matrix(seen.reactions, { rows: app.spec.bodies.map((b) => b.name), heads: ["fx N", "fy N", "fz N", "nx N m", "ny N m", "nz N m"], after: 1 })))] : []),
    );
    layer?.set(seen, show, 0.18 * app.spec.extent);
  }

  const tab = {
    left: [left], right: [right],
    get q() { return q; },
    get seen() { return seen; },
    get branches() { return branches; },
    setQ,
    /** Move the tool: position [m] and rotation vector [rad], base frame. */
    reach,
    robot() {
      gizmo?.dispose();
      gizmo = null;
      layer = null;
      seen = null;
      branches = [];
      q = app.posture.slice();
      makeLeft();
      drawBranches(null);
      facts.replaceChildren();
      body.replaceChildren();
    },
    show() {
      app.onFrame = null;
      if (!gizmo) {
        layer = ellipsoidLayer(app.scene);
        gizmo = toolGizmo(app.scene, reach);
      }
      gizmo.show(show.gizmo);
      app.hint("Drag turns the view, the wheel comes closer. Pull the handle at the tool, or jog the joints.");
      setQ(q);
    },
    hide() {
      gizmo?.show(false);
      layer?.set(null);
      app.scene.setGhost(null);
    },
    theme() { layer?.theme?.(); },
  };
  return tab;
}

export const toolOf = (spec, q) => origin(forward(spec, q).tool);

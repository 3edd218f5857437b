// SPDX-License-Identifier: Apache-2.0
// One scene for reports, studio and documentation: an arm, what stands around it, and what is known or felt about it.
// Everything that goes in or comes out is in the base frame, SI; the picture is turned so that gravity points down.
import {
  DirectionalLight, GridHelper, Group, HemisphereLight, Matrix4, Mesh, OrbitControls, PCFShadowMap, PerspectiveCamera,
  PlaneGeometry, Raycaster, Scene, ShadowMaterial, Vector2, Vector3, WebGLRenderer,
} from "./vendor/vendor.js";
import { armView, place } from "./arm_view.js";
import { inverse, transform } from "./kinematics.js";
import { arrowsView, mapView, pathView } from "./marks_view.js";
import { PALETTES, preferredTheme } from "./palette.js";
import { LATER, SOON, adaptiveRatio, isSoftware } from "./quality.js";
import { worldView } from "./world_view.js";

const VIEW = { azimuth: -55, elevation: 22 }; // degrees; z points up

/**
 * Draw a robot on a canvas. Frames are drawn only when something changed.
 * @param canvas the canvas; its size follows its CSS box, see `resize`
 * @param spec of the robot (recording/replay/spec.py)
 * @param options theme ("light" | "dark"; the system's by default), view {azimuth, elevation [deg], target, distance [m]},
 *   onFrame (called after every frame)
 * @returns the scene; throws where the browser has no WebGL
 */
export function createScene(canvas, spec, options = {}) {
  let colours = PALETTES[options.theme ?? preferredTheme()];
  const software = isSoftware();
  const renderer = new WebGLRenderer({ canvas, antialias: !software, powerPreference: "high-performance" });
  const quality = adaptiveRatio(software ? 1 : Math.min(globalThis.devicePixelRatio || 1, 2));
  renderer.shadowMap.enabled = !software;
  renderer.shadowMap.type = PCFShadowMap;

  const scene = new Scene(), base = new Group(), reach = spec.extent;
  place(base, spec.T_display_base);
  scene.add(base);
  const camera = new PerspectiveCamera(38, 1, 0.01 * reach, 40 * reach);
  camera.up.set(0, 0, 1);
  const controls = new OrbitControls(camera, canvas);
  controls.addEventListener("change", invalidate);

  scene.add(new HemisphereLight("#ffffff", "#8a94a0", 2.1));
  const sun = new DirectionalLight("#ffffff", 1.9);
  sun.position.set(1.2 * reach, -1.6 * reach, 3 * reach);
  sun.castShadow = true;
  sun.shadow.mapSize.set(1024, 1024);
  Object.assign(sun.shadow.camera, { left: -2 * reach, right: 2 * reach, top: 2 * reach, bottom: -2 * reach, far: 9 * reach });
  scene.add(sun);

  const floorLevel = transform(spec.T_display_base, [spec.T_base_root[3], spec.T_base_root[7], spec.T_base_root[11]])[2];
  const step = 10 ** Math.floor(Math.log10(reach)) * (reach / 10 ** Math.floor(Math.log10(reach)) > 4 ? 0.5 : 0.2);
  const squares = 2 * Math.ceil((1.6 * reach) / step);
  let grid = null;
  const shade = new Mesh(new PlaneGeometry(6 * reach, 6 * reach), new ShadowMaterial({ opacity: 0.16 }));
  shade.position.z = floorLevel - 1e-3 * reach;
  shade.receiveShadow = true;
  scene.add(shade);

  const arm = armView(spec, colours);
  arm.group.traverse((part) => { part.castShadow = part.isMesh; });
  const arrows = arrowsView(0.006 * reach);
  base.add(arm.group, arrows.group);
  const layers = {}; // world, map, ghost and paths by name

  function layer(name, view) {
    if (layers[name]) {
      base.remove(layers[name].group);
      release(layers[name].group);
    }
    layers[name] = view;
    if (view) base.add(view.group);
    invalidate();
  }

  let wanted = 0, frames = 0, gone = false, idle = 0, ratio = quality.finest, measured = SOON;
  function invalidate() {
    if (!wanted && !gone) wanted = requestAnimationFrame(draw);
  }
  function draw(now) {
    wanted = 0;
    clearTimeout(idle);
    if (ratio !== quality.ratio) setRatio(quality.ratio);
    if (++frames === measured) measure();
    else renderer.render(scene, camera);
    options.onFrame?.(now);
    idle = setTimeout(drawStill, 160);
  }
  /** Draw a frame and see how long it takes. Reading a pixel waits until everything is drawn, frames before it first. */
  function measure() {
    const gl = renderer.getContext(), wait = () => gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
    wait();
    const began = performance.now();
    renderer.render(scene, camera);
    wait();
    measured += quality.note(performance.now() - began) ? SOON : LATER;
  }
  function drawStill() {
    if (gone || ratio === quality.finest) return;
    setRatio(quality.finest);
    renderer.render(scene, camera);
  }
  function setRatio(next) {
    ratio = next;
    renderer.setPixelRatio(ratio);
  }

  function resize() {
    const { clientWidth: width, clientHeight: height } = canvas;
    if (!width || !height) return;
    setRatio(ratio);
    renderer.setSize(width, height, false);
    camera.aspect = width / height;
    camera.updateProjectionMatrix();
    invalidate();
  }

  function setTheme(theme) {
    colours = PALETTES[theme];
    renderer.setClearColor(colours.background);
    if (grid) { scene.remove(grid); release(grid); }
    grid = new GridHelper(squares * step, squares, colours.grid, colours.grid);
    grid.rotation.x = Math.PI / 2;
    grid.position.z = floorLevel - 2e-3 * reach;
    scene.add(grid);
    arm.recolour(colours);
    for (const [name, view] of Object.entries(layers)) view?.recolour?.(name.startsWith("path") ? colours.path : colours);
    invalidate();
  }

  /** Look at the arm from azimuth and elevation [deg]; target and distance [m] fit the arm by default. */
  function setView({ azimuth, elevation, target, distance } = {}) {
    const view = { ...VIEW, ...options.view };
    const a = ((azimuth ?? view.azimuth) * Math.PI) / 180, e = ((elevation ?? view.elevation) * Math.PI) / 180;
    const centre = new Vector3(...transform(spec.T_display_base, target ?? view.target ?? [0, 0, 0.3 * reach]));
    const far = distance ?? view.distance ?? 2.2 * reach;
    controls.target.copy(centre);
    camera.position.copy(centre).add(new Vector3(Math.cos(e) * Math.cos(a), Math.cos(e) * Math.sin(a), Math.sin(e)).multiplyScalar(far));
    controls.update();
    invalidate();
  }

  const caster = new Raycaster();
  function aim(x, y) {
    const box = canvas.getBoundingClientRect();
    const at = new Vector2((2 * (x - box.left)) / box.width - 1, 1 - (2 * (y - box.top)) / box.height);
    scene.updateMatrixWorld();
    caster.setFromCamera(at, camera);
    return caster;
  }
  const toBase = new Matrix4().set(...inverse(spec.T_display_base));
  const inBase = (point) => point.clone().applyMatrix4(toBase).toArray();

  /** The link under a pixel (client coordinates): {link, body, pointLink, pointBase} [m], or null. */
  function pick(x, y) {
    for (const hit of aim(x, y).intersectObjects(arm.bodies, true)) {
      let holder = hit.object;
      while (holder && holder.userData.body === undefined) holder = holder.parent;
      if (!holder) continue;
      const pointBase = inBase(hit.point), { body, link } = holder.userData;
      return { link, body, pointLink: transform(inverse(arm.poses.links[body]), pointBase), pointBase };
    }
    return null;
  }

  /** The shape under a pixel: {shape, pointBase}, or null. */
  function pickShape(x, y) {
    const hit = layers.world ? aim(x, y).intersectObject(layers.world.group, true).find((h) => h.object.userData.shape) : null;
    return hit ? { shape: hit.object.userData.shape, pointBase: inBase(hit.point) } : null;
  }

  /** The ray under a pixel: {origin, direction}, unit direction. */
  function ray(x, y) {
    const { origin, direction } = aim(x, y).ray;
    return { origin: inBase(origin), direction: direction.clone().transformDirection(toBase).toArray() };
  }

  /** Pixel (client coordinates) of a point; null behind the camera. */
  function project(point) {
    const box = canvas.getBoundingClientRect();
    const at = new Vector3(...transform(spec.T_display_base, point)).project(camera);
    return at.z > 1 ? null : [box.left + (0.5 + 0.5 * at.x) * box.width, box.top + (0.5 - 0.5 * at.y) * box.height];
  }

  const watcher = new ResizeObserver(resize);
  watcher.observe(canvas);
  arm.pose(spec.joints.map((joint) => Math.min(Math.max(0, joint.lower ?? 0), joint.upper ?? 0)));
  setTheme(options.theme ?? preferredTheme());
  setView();
  resize();

  return {
    spec, base, camera, controls, invalidate, resize, setTheme, setView, pick, pickShape, ray, project,
    /** Joint coordinates [rad or m]. */
    setPose(q) { arm.pose(q); invalidate(); },
    /** Poses shown now: {links, tool}, 16 numbers by rows each. */
    get poses() { return arm.poses; },
    /** A second, translucent arm at `q`; null removes it. */
    setGhost(q) {
      if (q === null) return layer("ghost", null);
      if (!layers.ghost) layer("ghost", armView(spec, colours, { ghost: true }));
      layers.ghost.pose(q);
      invalidate();
    },
    setWorld(shapes, { endless, opacity } = {}) {
      const view = shapes.length ? worldView(shapes, colours, reach, endless, opacity) : null;
      view?.group.traverse((part) => { part.castShadow = part.isMesh; });
      layer("world", view);
    },
    /** {points, size, rotation? | radius, colours?}; `known`: the first so many, or an array of indices. null removes it. */
    setMap(cells, known = Infinity) {
      layer("map", cells ? mapView(cells, colours) : null);
      layers.map?.show(known);
    },
    showMap(known) { layers.map?.show(known); invalidate(); },
    setArrows(list) { arrows.set(list); invalidate(); },
    /** A line through points; colours: one for all, one each, or none for the theme's. null removes it. */
    setPath(points, pathColours = null, { name = "", width } = {}) {
      layer(`path${name}`, points?.length > 1 ? pathView(points, pathColours ?? colours.path, width) : null);
    },
    showPath(count, name = "") { layers[`path${name}`]?.show(count); invalidate(); },
    /** Show the arm as one that is only remembered, or as it is. */
    fade(on) { arm.fade(on, colours); invalidate(); },
    highlight(body, colour = colours.felt) { arm.highlight(body, colour); invalidate(); },
    get colours() { return colours; },
    get stats() { return { frames, cost: quality.cost, ratio: quality.ratio, software }; },
    dispose() {
      gone = true;
      cancelAnimationFrame(wanted);
      clearTimeout(idle);
      watcher.disconnect();
      controls.dispose();
      release(scene);
      renderer.dispose();
    },
  };
}

/** Give back what the graphics card holds for an object and all below it. */
function release(object) {
  object.traverse((part) => {
    part.geometry?.dispose();
    for (const material of [part.material ?? []].flat()) material.dispose();
  });
}

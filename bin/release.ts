// `npm run release`: builds dist/release of the commit with the version's tag: executables, SBOM, licenses, provenance,
// checksums and the context of the image. `-- --rehearsal` builds dist/rehearsal of any commit. docs/releasing.md

import {
  copyFileSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { developmentVersion } from '../src/version.ts';
import { buildTwice } from './release/build-twice.ts';
import { checkBaseImage, makeDockerfile } from './release/container.ts';
import { findObstacles } from './release/preconditions.ts';
import { writeProductionManifest } from './release/production-manifest.ts';
import { makeProvenance, publicSource } from './release/provenance.ts';
import { runCommand, StepFailed } from './release/run-command.ts';
import { fetchRuntime, type Runtime, type Target, targets } from './release/runtimes.ts';
import { makeSbom, validateSbom } from './release/sbom.ts';
import { sha256 } from './release/sha256.ts';

const root = join(import.meta.dir, '..');

interface Plan {
  version: string;
  commit: string;
  isRehearsal: boolean;
  baseImage: string | null;
  targets: readonly Target[];
  /** Where the files of the release are put. */
  directory: string;
}

try {
  await release(makePlan());
} catch (failure) {
  if (!(failure instanceof StepFailed)) throw failure;
  console.error(`release: ${failure.message}`);
  process.exit(1);
}

function makePlan(): Plan {
  const { values } = parseArgs({
    options: {
      'base-image': { type: 'string' },
      output: { type: 'string' },
      rehearsal: { type: 'boolean' },
      only: { type: 'string' },
    },
  });
  const isRehearsal = values.rehearsal === true;
  const baseImage = values['base-image'] ?? null;
  const chosen = targets.filter(({ machine }) => values.only === undefined || values.only === machine);
  if (chosen.length === 0)
    throw new StepFailed(`--only must be one of ${targets.map(({ machine }) => machine).join(', ')}`);
  const here = `${process.platform}-${process.arch}`;
  if (!chosen.some(({ machine }) => machine === here))
    throw new StepFailed(`${here} cannot start any of the executables that are built, to test them`);
  if (values.only !== undefined && !isRehearsal) throw new StepFailed('--only is for rehearsals');
  if (baseImage !== null) checkBaseImage(baseImage);
  const obstacles = findObstacles(root);
  if (baseImage === null)
    obstacles.push('the digest of the base image is missing: --base-image debian:bookworm-slim@sha256:…');
  refuse(obstacles, isRehearsal);
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  const commit = runCommand(['git', 'rev-parse', 'HEAD'], root).trim();
  return {
    version: isRehearsal ? developmentVersion(version, commit.slice(0, 12)) : version,
    commit,
    isRehearsal,
    baseImage,
    targets: chosen,
    directory: resolve(values.output ?? join(root, 'dist', isRehearsal ? 'rehearsal' : 'release')),
  };
}

/** A rehearsal names what a release would refuse, and goes on. */
function refuse(obstacles: readonly string[], isRehearsal: boolean): void {
  if (obstacles.length === 0) return;
  if (!isRehearsal) throw new StepFailed(obstacles.join('\nrelease: '));
  for (const obstacle of obstacles) console.log(`A release would be refused: ${obstacle}`);
}

async function release(plan: Plan): Promise<void> {
  const work = mkdtempSync(join(tmpdir(), 'turnpike-release-'));
  try {
    const production = writeProductionManifest(root, work);
    audit(plan, production);
    const runtimes = new Map(plan.targets.map((target) => [target, fetchRuntime(root, target.package, work)]));
    const { commit, isRehearsal } = plan;
    const built = buildTwice({ root, commit, isDevelopment: isRehearsal, runtimes, work });
    rmSync(plan.directory, { recursive: true, force: true });
    mkdirSync(plan.directory, { recursive: true });
    for (const { machine } of plan.targets)
      copyFileSync(join(built.directory, machine), join(plan.directory, nameOf(plan, machine)));
    await writeDocuments(plan, built.source, production);
    writeContainer(plan, built.source);
    writeProvenance(plan, built.source, [...runtimes.values()]);
    const files = listFiles(plan.directory);
    writeFileSync(join(plan.directory, 'SHA256SUMS'), sumsOf(plan.directory, files));
    console.log(`\n${plan.directory}: turnpike ${plan.version}, each executable with the same bytes in two builds`);
    console.log(isRehearsal ? 'This was a rehearsal: publish nothing of it.' : nextSteps(plan));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Known vulnerabilities of what is shipped. A registry that does not answer is a failure: nothing is known then. */
function audit({ isRehearsal }: Plan, production: string): void {
  try {
    console.log(runCommand(['npm', 'audit', '--package-lock-only', '--audit-level=moderate'], production));
  } catch (failure) {
    refuse([`${(failure as Error).message}; its message is above`], isRehearsal);
  }
}

function nameOf({ version }: Plan, machine: string): string {
  return `turnpike-${version}-${machine}`;
}

/** The SBOM, the project's license, and those of others as the executable of this machine prints them. */
async function writeDocuments(plan: Plan, source: string, production: string): Promise<void> {
  const { version, commit, directory } = plan;
  const committedAt = runCommand(['git', 'show', '--no-patch', '--format=%cI', commit], root).trim();
  const sbom = makeSbom(production, new Date(committedAt).toISOString());
  await validateSbom(sbom);
  writeFileSync(join(directory, `turnpike-${version}.cdx.json`), `${JSON.stringify(sbom, null, 2)}\n`);
  copyFileSync(join(source, 'LICENSE'), join(directory, 'LICENSE'));
  const executable = join(directory, nameOf(plan, `${process.platform}-${process.arch}`));
  const empty = mkdtempSync(join(tmpdir(), 'turnpike-empty-'));
  try {
    const printed = runCommand([executable, '--version'], empty).trim();
    if (printed !== version) throw new StepFailed(`the executable says that it is ${printed}, not ${version}`);
    writeFileSync(join(directory, 'THIRD-PARTY-NOTICES.txt'), runCommand([executable, 'licenses'], empty));
  } finally {
    rmSync(empty, { recursive: true, force: true });
  }
}

/** The context of the image; none without the digest of its base. */
function writeContainer(plan: Plan, source: string): void {
  if (plan.baseImage === null) return;
  const context = join(plan.directory, 'container');
  for (const { machine, imageArchitecture } of plan.targets) {
    if (imageArchitecture === undefined) continue;
    mkdirSync(join(context, imageArchitecture), { recursive: true });
    linkSync(join(plan.directory, nameOf(plan, machine)), join(context, imageArchitecture, 'turnpike'));
  }
  const dockerfile = readFileSync(join(source, 'Dockerfile'), 'utf8');
  writeFileSync(join(context, 'Dockerfile'), makeDockerfile(dockerfile, plan.baseImage));
}

function writeProvenance(plan: Plan, source: string, runtimes: readonly Runtime[]): void {
  const { version, commit, baseImage, directory } = plan;
  const remote = Bun.spawnSync(['git', 'config', 'remote.origin.url'], { cwd: root }).stdout.toString().trim();
  const statement = makeProvenance({
    version,
    commit,
    source: publicSource(remote),
    lockSha256: sha256(join(source, 'package-lock.json')),
    baseImage,
    runtimes,
    files: Object.fromEntries(listFiles(directory).map((name) => [name, sha256(join(directory, name))])),
  });
  writeFileSync(join(directory, `turnpike-${version}.intoto.json`), `${JSON.stringify(statement, null, 2)}\n`);
}

/** The files of the release; the executables in the image's context are the same files. */
function listFiles(directory: string): string[] {
  const names = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== 'turnpike')
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)));
  return names.sort();
}

function sumsOf(directory: string, files: readonly string[]): string {
  return files.map((name) => `${sha256(join(directory, name))}  ${name}\n`).join('');
}

function nextSteps({ version, directory }: Plan): string {
  return `
Next, as docs/releasing.md describes:
  1. cd ${directory}
  2. sign:     cosign sign-blob --bundle SHA256SUMS.sigstore.json SHA256SUMS
               cosign attest-blob --statement turnpike-${version}.intoto.json --bundle turnpike-${version}.sigstore.json turnpike-${version}-linux-x64
  3. push:     git push origin v${version}
  4. publish the files with the section "${version}" of CHANGELOG.md
  5. image:    docker buildx build --platform linux/amd64,linux/arm64 --tag REGISTRY/turnpike:${version} --push container
               cosign sign REGISTRY/turnpike@DIGEST
  6. begin the next version: npm version --no-git-tag-version minor`;
}

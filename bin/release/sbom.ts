// The software bill of materials: what `npm sbom` reports of package-lock.json, without what differs between two runs.

import { Spec, Validation } from '@cyclonedx/cyclonedx-library';
import { runCommand, StepFailed } from './run-command.ts';
import { targets } from './runtimes.ts';

export interface Sbom {
  serialNumber: string;
  metadata: { timestamp: string; component: { name: string; type: string } };
  components: { 'bom-ref': string; name: string; version: string }[];
  dependencies: { ref: string; dependsOn: string[] }[];
}

/** `directory` is that of writeProductionManifest. */
export function makeSbom(directory: string, committedAt: string): Sbom {
  const options = ['--sbom-format', 'cyclonedx', '--sbom-type', 'application', '--package-lock-only'];
  const sbom = JSON.parse(runCommand(['npm', 'sbom', ...options], directory)) as Sbom;
  const runtimes = targets.map((target) => target.package);
  const isShipped = (name: string) => !name.startsWith('@oven/') || runtimes.some((each) => name === each);
  const dropped = new Set(sbom.components.filter(({ name }) => !isShipped(name)).map((each) => each['bom-ref']));
  sbom.components = sbom.components.filter((each) => !dropped.has(each['bom-ref']));
  sbom.dependencies = sbom.dependencies
    .filter(({ ref }) => !dropped.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((each) => !dropped.has(each)) }));
  sbom.metadata.timestamp = committedAt;
  sbom.serialNumber = '';
  sbom.serialNumber = `urn:uuid:${Bun.randomUUIDv5(JSON.stringify(sbom), 'url')}`;
  return sbom;
}

/** Throws StepFailed if it is not valid for the schema of CycloneDX 1.5, the version that npm writes. */
export async function validateSbom(sbom: Sbom): Promise<void> {
  const faults = await new Validation.JsonStrictValidator(Spec.Version.v1dot5).validate(JSON.stringify(sbom));
  if (faults !== null) throw new StepFailed(`the SBOM is not valid: ${JSON.stringify(faults).slice(0, 2000)}`);
}

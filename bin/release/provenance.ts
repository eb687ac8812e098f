// The provenance of a release: an in-toto statement with the predicate of SLSA 1.0, unsigned. It has no times, so that two
// builds have the same statement.

import type { Runtime } from './runtimes.ts';

export interface ReleaseFacts {
  version: string;
  /** The id of the commit. */
  commit: string;
  /** Where the commit was cloned from; null if that is no public address. */
  source: string | null;
  lockSha256: string;
  baseImage: string | null;
  runtimes: readonly Runtime[];
  /** SHA-256 by file name. */
  files: Readonly<Record<string, string>>;
}

export function makeProvenance(facts: ReleaseFacts) {
  const { version, commit, source, lockSha256, baseImage, runtimes, files } = facts;
  const [baseName, baseSha256] = baseImage?.split('@sha256:') ?? [];
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: Object.entries(files).map(([name, sha256]) => ({ name, digest: { sha256 } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'urn:turnpike:npm-run-release:1',
        externalParameters: { version, ...(baseImage === null ? {} : { baseImage }) },
        resolvedDependencies: [
          { name: 'source', ...(source === null ? {} : { uri: `git+${source}` }), digest: { gitCommit: commit } },
          { name: 'package-lock.json', digest: { sha256: lockSha256 } },
          ...runtimes.map((runtime) => ({
            uri: `pkg:npm/${runtime.package.replace('@', '%40')}@${runtime.version}`,
            digest: { sha512: runtime.sha512 },
          })),
          ...(baseName === undefined ? [] : [{ uri: `docker://${baseName}`, digest: { sha256: baseSha256 } }]),
        ],
      },
      // A person's machine. A build service that signs provenance states its own.
      runDetails: { builder: { id: 'urn:turnpike:release-by-a-person' } },
    },
  };
}

/** Leaves out addresses of a disk and those with a password. */
export function publicSource(remote: string): string | null {
  return /^https:\/\/[^@/]+\/\S+$/.test(remote) ? remote : null;
}

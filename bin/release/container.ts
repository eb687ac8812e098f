// The context of the released image: the executables, and a Dockerfile with the last stage of the project's own one.

import { StepFailed } from './run-command.ts';

const BASE = 'debian:bookworm-slim';
const pinnedBase = new RegExp(`^(?:[\\w.:-]+/)*${BASE}@sha256:[0-9a-f]{64}$`);
const copyOfBuild = 'COPY --from=build /turnpike/dist/turnpike /usr/local/bin/turnpike';

/** Throws StepFailed unless the image is the base of the Dockerfile with its digest. */
export function checkBaseImage(image: string): void {
  if (!pinnedBase.test(image))
    throw new StepFailed(`--base-image must be ${BASE}@sha256: and 64 hexadecimal digits, and is "${image}"`);
}

/** `dockerfile` is that of the project. In the context, `amd64/turnpike` and `arm64/turnpike` are the executables. */
export function makeDockerfile(dockerfile: string, baseImage: string): string {
  checkBaseImage(baseImage);
  const stages = dockerfile.split(`FROM ${BASE}\n`);
  const [, stage] = stages;
  if (stages.length !== 2 || stage?.split(copyOfBuild).length !== 2)
    throw new StepFailed('the Dockerfile no longer has the lines that a release replaces');
  const executable = stage.replace(copyOfBuild, 'ARG TARGETARCH\nCOPY $TARGETARCH/turnpike /usr/local/bin/turnpike');
  return `# The released executables in an image. docs/releasing.md says how it is built and signed.\n\nFROM ${baseImage}\n${executable}`;
}

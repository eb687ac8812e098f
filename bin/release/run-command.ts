// Runs a program to its end for the steps of a release.

export class StepFailed extends Error {
  override name = 'StepFailed';
}

/** Returns its output. If it fails, that goes to the terminal, as its messages always do, and StepFailed is thrown. */
export function runCommand(command: readonly string[], directory: string): string {
  const { exitCode, stdout } = Bun.spawnSync([...command], {
    cwd: directory,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'inherit',
  });
  if (exitCode === 0) return stdout.toString();
  console.error(stdout.toString());
  throw new StepFailed(`${command.slice(0, 3).join(' ')} ended with ${exitCode}`);
}

// Runs a program to its end for the steps of a release.

export class StepFailed extends Error {
  override name = 'StepFailed';
}

/** Returns what it printed to stdout; its stderr goes to the terminal. Throws StepFailed if it fails. */
export function runCommand(command: readonly string[], directory: string): string {
  const { exitCode, stdout } = Bun.spawnSync([...command], {
    cwd: directory,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'inherit',
  });
  if (exitCode !== 0) throw new StepFailed(`${command.slice(0, 3).join(' ')} ended with ${exitCode}`);
  return stdout.toString();
}

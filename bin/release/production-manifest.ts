// package.json and package-lock.json with production dependencies only, for programs that look at what is shipped. Their
// own `--omit dev` also leaves out packages that production and development dependencies share.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

interface Lock {
  packages: Record<string, { dev?: boolean; devOptional?: boolean; devDependencies?: object }>;
}

/** Returns a new directory below `work` with both files. Its name is that of the main component. */
export function writeProductionManifest(root: string, work: string): string {
  const read = (name: string) => JSON.parse(readFileSync(join(root, name), 'utf8'));
  const { devDependencies: _, ...manifest } = read('package.json') as { devDependencies: object };
  const lock = read('package-lock.json') as Lock;
  const shipped = Object.entries(lock.packages).filter(([, { dev, devOptional }]) => !dev && !devOptional);
  const packages = Object.fromEntries(shipped);
  if (packages[''] !== undefined) packages[''] = { ...packages[''], devDependencies: {} };
  const directory = join(work, 'production', 'turnpike');
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'package.json'), JSON.stringify(manifest));
  writeFileSync(join(directory, 'package-lock.json'), JSON.stringify({ ...lock, packages }));
  return directory;
}

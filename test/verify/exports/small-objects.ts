// Preloaded into a service: exports with small objects in small parts, which begin at once.

import { setBounds } from '../../support/set-bounds.ts';

setBounds({
  exportPageRows: 50,
  exportPartRows: 150,
  exportUploadBytes: 20_000,
  exportsEveryMs: 100,
  jobsFirstAfterMs: 0,
  jobsPollMs: 50,
});

// The first page: how the traffic goes, and what needs somebody.

import { PageHead } from '../parts/page-head.tsx';
import { words } from '../words.ts';

export function OverviewShow() {
  return <PageHead title={words.nav.overview} />;
}

// The choice of the zone that all times follow.

import { Menu } from '@mantine/core';
import { deviceZone, nameOfZone } from '../times.ts';
import { chooseTimes, type Times, UTC, useZone } from './times.tsx';

/** The choice of the zone, within a menu. */
export function TimesMenu() {
  const zone = useZone();
  const local = deviceZone();
  return (
    <>
      <Menu.Label>Times</Menu.Label>
      <Menu.RadioGroup value={zone === UTC ? 'utc' : 'local'} onChange={(times) => chooseTimes(times as Times)}>
        <Menu.RadioItem value="local" closeMenuOnClick={false} disabled={local === UTC}>
          {`Local (${nameOfZone(local)})`}
        </Menu.RadioItem>
        <Menu.RadioItem value="utc" closeMenuOnClick={false}>
          UTC
        </Menu.RadioItem>
      </Menu.RadioGroup>
    </>
  );
}

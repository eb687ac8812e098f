// Draws a TimeChart. Only this file imports the chart library.

import { AreaChart, BarChart, LineChart } from '@mantine/charts';
import {
  type ComponentPropsWithoutRef,
  type KeyboardEvent,
  type MouseEvent,
  type ReactNode,
  type RefObject,
  useRef,
  useState,
} from 'react';
import { ReferenceArea, useActiveTooltipLabel, useXAxisInverseDataSnapScale } from 'recharts';
import { axisOf } from '../figures.ts';
import type { TimeChartProps } from './time-chart.tsx';

/** The width of a digit of the axes, and the distance of the labels from the axis. */
const DIGIT_PX = 7.5;
const LABEL_GAP_PX = 18;
const AXIS_PX_MIN = 64;
/** Above the plot, for the half of the highest label that reaches beyond it. */
const LABEL_PX = 10;

export function DrawnChart(props: TimeChartProps) {
  const pick = usePick(props.onPick);
  return (
    <div {...pick.mouse}>
      <Drawing {...props} pick={pick} />
    </div>
  );
}

function Drawing({
  points,
  series,
  kind,
  isStacked,
  heightPx = 220,
  format: formatOf,
  formatValue,
  hasSteps = false,
  isBare = false,
  isSmall = false,
  isOfCounts = false,
  pick,
}: TimeChartProps & { pick: Picking }) {
  const labelOf = (place: unknown) => points[Number(place)]?.at ?? '';
  const [least, most] = extremesOf(points, series, isStacked === true);
  const { ticks, domain } = axisOf(least, most, isOfCounts);
  const format = formatOf && ((value: number) => formatOf(value, Math.max(most, -least)));
  const labelLength = Math.max(0, ...ticks.map((tick) => format?.(tick).length ?? 0));
  const shared = {
    h: heightPx,
    data: points.map((point, place) => ({ ...point, place })), // labels may be repeated, places are not
    dataKey: 'place',
    series: series.map(({ name, label, color }) => ({ name, label, color })),
    withLegend: !isBare && !isSmall && series.length > 1,
    withXAxis: !isBare,
    withYAxis: !isBare && !isSmall,
    withTooltip: !isBare,
    gridAxis: isBare ? ('none' as const) : ('x' as const),
    tickLine: 'none' as const,
    xAxisProps: { minTickGap: 40, tickFormatter: labelOf },
    tooltipProps: { labelFormatter: labelOf },
    yAxisProps: {
      ...(!isBare && { ticks, domain: [...domain], interval: 0 as const }),
      width: Math.max(AXIS_PX_MIN, labelLength * DIGIT_PX + LABEL_GAP_PX),
      ...(format !== undefined && { tickFormatter: format }),
    },
    ...(format !== undefined && { valueFormatter: formatValue ?? format }),
    // No animation.
    tooltipAnimationDuration: 0,
    children: pick.marks,
    ...pick.keys,
  };
  // A chart without tooltips is not focusable.
  const drawing = { accessibilityLayer: !isBare, ...(!isBare && { margin: { top: LABEL_PX } }) };
  if (kind === 'bar')
    return <BarChart {...shared} barChartProps={drawing} {...(isStacked === true && { type: 'stacked' as const })} />;
  if (kind === 'line')
    return (
      <LineChart
        {...shared}
        lineChartProps={drawing}
        withDots={hasLonePoint(points, series)}
        curveType="linear"
        connectNulls={false}
      />
    );
  return (
    <AreaChart
      {...shared}
      areaChartProps={drawing}
      withDots={points.length === 1}
      curveType={hasSteps ? 'stepAfter' : 'linear'}
      fillOpacity={0.25}
      {...(isStacked === true && { type: 'stacked' as const })}
    />
  );
}

interface Picking {
  mouse: Pick<ComponentPropsWithoutRef<'div'>, 'onMouseDown' | 'onMouseMove' | 'onMouseUp' | 'onMouseLeave' | 'style'>;
  keys: object;
  /** What it adds to the chart. */
  marks: ReactNode;
}

/** Picks a point by a click, or by Enter after the arrow keys, and several by dragging over them. */
function usePick(onPick: TimeChartProps['onPick']): Picking {
  const [span, setSpan] = useState<readonly [number, number] | null>(null);
  const places = useRef<Places>({ active: null, at: () => null });
  if (onPick === undefined) return { mouse: {}, keys: {}, marks: null };
  const [first, last] = span === null ? [0, 0] : [Math.min(...span), Math.max(...span)];
  const move = (start: number | null, { clientX, currentTarget }: MouseEvent) => {
    const place = places.current.at(clientX - currentTarget.getBoundingClientRect().left);
    if (place !== null) setSpan([start ?? place, place]);
  };
  const pickActive = () => {
    const { active } = places.current;
    if (active !== null) onPick(active, active);
  };
  return {
    mouse: {
      onMouseDown: (event) => move(null, event),
      onMouseMove: (event) => span !== null && move(span[0], event),
      onMouseUp() {
        setSpan(null);
        if (span !== null) onPick(first, last);
      },
      onMouseLeave: () => setSpan(null),
      style: { cursor: 'pointer', userSelect: 'none' },
    },
    keys: { onKeyDown: ({ key }: KeyboardEvent) => key === 'Enter' && pickActive() },
    marks: (
      <>
        <KeepPlaces places={places} />
        {first !== last && <ReferenceArea x1={first} x2={last} fillOpacity={0.2} />}
      </>
    ),
  };
}

interface Places {
  /** The place that the arrow keys or the mouse have reached. */
  active: number | null;
  /** The place of the point nearest to a distance from the left end of the chart. */
  at: (px: number) => number | null;
}

function KeepPlaces({ places }: { places: RefObject<Places> }) {
  const label = useActiveTooltipLabel();
  const valueAt = useXAxisInverseDataSnapScale();
  places.current = {
    active: label === undefined ? null : Number(label),
    at: (px) => (valueAt === undefined ? null : Number(valueAt(px))),
  };
  return null;
}

/** The smallest and the largest value, or sum of a point if its values are stacked. The axis has zero in any case. */
function extremesOf(
  points: TimeChartProps['points'],
  series: TimeChartProps['series'],
  isStacked: boolean,
): [least: number, most: number] {
  const values = points.flatMap((point) => {
    const shown = series.map(({ name }) => point[name]).filter((value) => typeof value === 'number');
    return isStacked ? [shown.reduce((sum, value) => sum + value, 0)] : shown;
  });
  return values.reduce<[number, number]>(
    ([least, most], value) => [Math.min(least, value), Math.max(most, value)],
    [0, 0],
  );
}

/** Whether a value has no neighbors: without a line to it, only a dot makes it visible. */
function hasLonePoint(points: TimeChartProps['points'], series: TimeChartProps['series']): boolean {
  const isThere = (at: number, name: string) => typeof points[at]?.[name] === 'number';
  return points.some((_, at) =>
    series.some(({ name }) => isThere(at, name) && !isThere(at - 1, name) && !isThere(at + 1, name)),
  );
}

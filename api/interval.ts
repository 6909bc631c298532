import { type Fault, faultAt, invalid, oneFault } from './problem.ts';

/** The first and the last time of an interval, each by the name of its parameter. */
type Bounds = Readonly<Record<string, string | undefined>>;

/** @throws Problem that names both times if the last one, which is named second, is before the first one. */
export function refuseReversed(place: Fault['in'], bounds: Bounds): void {
  const [first, last] = Object.entries(bounds);
  if (first?.[1] === undefined || last?.[1] === undefined || new Date(last[1]) >= new Date(first[1])) return;
  const detail = `${last[1]} is before ${first[0]}, ${first[1]}: no time is between them`;
  throw invalid(oneFault(faultAt(place, `/${last[0]}`, detail)));
}

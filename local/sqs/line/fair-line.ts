import type { Message } from '../message/message.ts';
import type { Line } from './line.ts';

const NOISY_IN_FLIGHT = 30;
const NOISY_SHARE = 0.1;
const NOISY_QUIET_MS = 5 * 60_000;

interface Group {
  inFlight: number;
  lastSentAt: number;
  /** Ready messages set aside while the group is noisy; absent while it is not. */
  parked?: Deque<Message>;
}

interface FairLine {
  readonly main: Deque<Message>;
  /** Backlogs of groups that have become quiet: older than what is in `main`, so served first. */
  readonly released: Deque<Message>[];
  readonly groups: Map<string, Group>;
  readonly noisy: Map<string, Group>;
}

/**
 * The order of a standard queue: first visible, first served, but a noisy message group waits behind the others
 * (fair queues). A group is noisy above 10 % of all messages in flight with at least 30 of its own, until its backlog
 * is gone or nothing has been sent to it for 5 minutes. A message without a group is its own group, never noisy. Of
 * several noisy groups the one with the fewest in flight is served. The other measure of SQS, a group's share of recent
 * processing time, is left out: how recent is not told.
 *
 * Every message is parked at most once a noisy period, so a receive costs its batch on average, not the queue.
 */
export function createFairLine(inFlightInAll: () => number): Line {
  const line: FairLine = { main: createDeque(), released: [], groups: new Map(), noisy: new Map() };
  return {
    add(message) {
      const group = groupOf(line, message);
      if (group !== undefined) group.lastSentAt = Math.max(group.lastSentAt, message.sentAt);
      (group?.parked ?? line.main).items.push(message);
    },
    take(now) {
      calmDown(line, now);
      return takeQuiet(line) ?? takeNoisy(line);
    },
    tookOff(message) {
      const group = groupOf(line, message);
      if (group === undefined) return;
      group.inFlight += 1;
      const isNoisy = group.inFlight >= NOISY_IN_FLIGHT && group.inFlight > NOISY_SHARE * inFlightInAll();
      if (isNoisy && group.parked === undefined) park(line, group, message);
    },
    landed(message) {
      const group = groupOf(line, message);
      if (group !== undefined) group.inFlight -= 1;
      // Group names may be without number (one a tenant); those with nothing in flight need not be known.
      if (group?.inFlight === 0 && group.parked === undefined) line.groups.delete(message.content.groupId ?? '');
    },
  };
}

function groupOf(line: FairLine, message: Message): Group | undefined {
  const id = message.content.groupId;
  if (id === undefined) return undefined;
  const known = line.groups.get(id);
  if (known !== undefined) return known;
  const group: Group = { inFlight: 0, lastSentAt: message.sentAt };
  line.groups.set(id, group);
  return group;
}

function park(line: FairLine, group: Group, message: Message): void {
  group.parked = createDeque();
  line.noisy.set(message.content.groupId ?? '', group);
}

function takeQuiet(line: FairLine): Message | undefined {
  for (let message = takeOldest(line); message !== undefined; message = takeOldest(line)) {
    if (message.state !== 'ready') continue;
    const parked = groupOf(line, message)?.parked;
    if (parked === undefined) return message;
    parked.items.push(message);
  }
  return undefined;
}

function takeOldest(line: FairLine): Message | undefined {
  for (let first = line.released[0]; first !== undefined; first = line.released[0]) {
    const message = shiftFront(first);
    if (message !== undefined) return message;
    line.released.shift();
  }
  return shiftFront(line.main);
}

function takeNoisy(line: FairLine): Message | undefined {
  for (let noisy = leastBusy(line); noisy !== undefined; noisy = leastBusy(line)) {
    const [id, group] = noisy;
    const message = takeParked(group);
    // An empty backlog ends the noise.
    if (group.parked === undefined || dequeSize(group.parked) === 0) {
      line.noisy.delete(id);
      delete group.parked;
    }
    if (message !== undefined) return message;
  }
  return undefined;
}

function leastBusy({ noisy }: FairLine): [string, Group] | undefined {
  let least: [string, Group] | undefined;
  for (const entry of noisy) if (least === undefined || entry[1].inFlight < least[1].inFlight) least = entry;
  return least;
}

function takeParked({ parked }: Group): Message | undefined {
  if (parked === undefined) return undefined;
  for (let message = shiftFront(parked); message !== undefined; message = shiftFront(parked)) {
    if (message.state === 'ready') return message;
  }
  return undefined;
}

function calmDown(line: FairLine, now: number): void {
  for (const [id, group] of line.noisy) {
    if (group.parked === undefined || now - group.lastSentAt < NOISY_QUIET_MS) continue;
    line.released.push(group.parked);
    delete group.parked;
    line.noisy.delete(id);
  }
}

/** First in, first out, in constant time: an array whose front is cut off now and then. */
interface Deque<T> {
  items: T[];
  head: number;
}

function createDeque<T>(): Deque<T> {
  return { items: [], head: 0 };
}

function dequeSize(deque: Deque<unknown>): number {
  return deque.items.length - deque.head;
}

function shiftFront<T>(deque: Deque<T>): T | undefined {
  if (deque.head >= deque.items.length) return undefined;
  const item = deque.items[deque.head];
  deque.head += 1;
  if (deque.head === deque.items.length) {
    deque.items = [];
    deque.head = 0;
  } else if (deque.head > 1024 && deque.head * 2 > deque.items.length) {
    deque.items = deque.items.slice(deque.head);
    deque.head = 0;
  }
  return item;
}

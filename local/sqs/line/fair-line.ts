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
  /** Backlogs of groups that are quiet again: older than the messages in `main`, so served first. */
  readonly released: Deque<Message>[];
  readonly groups: Map<string, Group>;
  readonly noisy: Map<string, Group>;
}

/**
 * Creates the line of a standard queue: messages are served in the order in which they became visible, but a noisy
 * message group waits behind the others (fair queues). A group is noisy while it has at least 30 messages in flight and
 * more than 10 % of all; it stays noisy until its backlog is empty or nothing was sent to it for 5 minutes. A message
 * without a group is never noisy. Among noisy groups, the group with the fewest messages in flight is served. The other
 * measure of SQS, a group's share of recent processing time, is not implemented: its period is not documented.
 *
 * A message is parked at most once per noisy period, so the average cost of a receive does not depend on the queue's
 * length.
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
      // The number of groups is unbounded (one per tenant, say), so a group without messages in flight is dropped.
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
    // A group with an empty backlog is quiet again.
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

/** A queue in constant time: an array whose used front is cut off from time to time. */
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

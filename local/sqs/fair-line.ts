import { createDeque, type Deque, dequeSize, shiftFront } from './deque.ts';
import type { Line } from './line.ts';
import type { Message } from './message.ts';

const NOISY_IN_FLIGHT = 30;
const NOISY_SHARE = 0.1;
const NOISY_QUIET_MS = 5 * 60_000;

interface Group {
  inFlight: number;
  lastSentAt: number;
  /** Ready messages set aside while the group is noisy; absent while it is not. */
  parked?: Deque<Message>;
}

/**
 * The order of a standard queue: first visible, first served, but a noisy message group waits behind the others
 * (fair queues). A group is noisy above 10 % of all messages in flight with at least 30 of its own, until its backlog
 * is gone or nothing has been sent to it for 5 minutes. A message without a group is its own group, never noisy.
 *
 * Every message is parked at most once a noisy period, so a receive costs its batch on average, not the queue.
 */
export function createFairLine(inFlightInAll: () => number): Line {
  const main = createDeque<Message>();
  const released: Deque<Message>[] = [];
  const groups = new Map<string, Group>();
  const noisy = new Map<string, Group>();

  function groupOf(message: Message): Group | undefined {
    const id = message.content.groupId;
    if (id === undefined) return undefined;
    const known = groups.get(id);
    if (known !== undefined) return known;
    const group: Group = { inFlight: 0, lastSentAt: message.sentAt };
    groups.set(id, group);
    return group;
  }

  function takeQuiet(): Message | undefined {
    for (let message = takeOldest(); message !== undefined; message = takeOldest()) {
      if (message.state !== 'ready') continue;
      const parked = groupOf(message)?.parked;
      if (parked === undefined) return message;
      parked.items.push(message);
    }
    return undefined;
  }

  function takeOldest(): Message | undefined {
    for (let first = released[0]; first !== undefined; first = released[0]) {
      const message = shiftFront(first);
      if (message !== undefined) return message;
      released.shift();
    }
    return shiftFront(main);
  }

  function takeNoisy(): Message | undefined {
    for (const [id, group] of noisy) {
      const message = takeParked(group);
      // Noisy groups take turns: the one just served goes to the end. An empty backlog ends the noise.
      noisy.delete(id);
      if (group.parked !== undefined && dequeSize(group.parked) > 0) noisy.set(id, group);
      else delete group.parked;
      if (message !== undefined) return message;
    }
    return undefined;
  }

  function calmDown(now: number): void {
    for (const [id, group] of noisy) {
      if (now - group.lastSentAt < NOISY_QUIET_MS || group.parked === undefined) continue;
      released.push(group.parked);
      delete group.parked;
      noisy.delete(id);
    }
  }

  return {
    add(message) {
      const group = groupOf(message);
      if (group !== undefined) group.lastSentAt = Math.max(group.lastSentAt, message.sentAt);
      (group?.parked ?? main).items.push(message);
    },
    take(now) {
      calmDown(now);
      return takeQuiet() ?? takeNoisy();
    },
    tookOff(message) {
      const group = groupOf(message);
      if (group === undefined) return;
      group.inFlight += 1;
      const isNoisy = group.inFlight >= NOISY_IN_FLIGHT && group.inFlight > NOISY_SHARE * inFlightInAll();
      if (!isNoisy || group.parked !== undefined) return;
      group.parked = createDeque();
      noisy.set(message.content.groupId ?? '', group);
    },
    landed(message) {
      const id = message.content.groupId;
      const group = id === undefined ? undefined : groups.get(id);
      if (id === undefined || group === undefined) return;
      group.inFlight -= 1;
      if (group.inFlight === 0 && group.parked === undefined) groups.delete(id);
    },
  };
}

function takeParked(group: Group): Message | undefined {
  if (group.parked === undefined) return undefined;
  for (let message = shiftFront(group.parked); message !== undefined; message = shiftFront(group.parked)) {
    if (message.state === 'ready') return message;
  }
  return undefined;
}

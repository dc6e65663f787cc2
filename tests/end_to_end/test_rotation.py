"""The webhook secret rotated while edits flow: every one is accepted, and each event tells which secret verified it."""

import threading
from concurrent.futures import ThreadPoolExecutor

from stack.waiting import wait_until

SENDERS = 4
EDITS = 40


def test_a_rotation_under_running_traffic_loses_nothing(stack, name):
    old, new = stack.sender.secret, "the-secret-after-the-rotation"
    edits = [stack.edit(f"{name}-{number}", "page", f"/{name}-{number}", send=False) for number in range(EDITS)]
    sent, changed = threading.Semaphore(0), threading.Event()

    def send(number):
        # Sanity signs with the old secret until somebody changes it there, and somebody does so half-way.
        if number >= EDITS // 2:
            changed.wait(60)
        secret = new if changed.is_set() else old
        answer = stack.send(edits[number].delivery, secret=secret)
        sent.release()
        return secret, answer

    try:
        with ThreadPoolExecutor(SENDERS) as pool:
            answers = [pool.submit(send, number) for number in range(EDITS)]
            for _ in range(EDITS // 4):
                sent.acquire(timeout=60)
            stack.deployment.put_secret("WebhookSecret", new)
            # The functions have noticed: in the README's words, wait five minutes.
            stack.functions.kill("WebhookFunction")
            wait_until(lambda: sum(answer.done() for answer in answers) >= EDITS // 2, 60, "the old one's traffic")
            changed.set()
            results = [answer.result(60) for answer in answers]
        refused = [answer.body for _, answer in results if 400 <= answer.status < 500]
        assert refused == [], "a 4xx would lose them"
        # A request that a killed process had in hand is one that Sanity sends again.
        for number, (secret, answer) in enumerate(results):
            if answer.status >= 500:
                results[number] = (secret, stack.send(edits[number].delivery, secret=secret))
        assert {answer.status for _, answer in results} == {200}
        for secret, answer in results[EDITS // 2 :]:
            assert secret == new and stack.ledger.event(answer.body["event_id"])["verified_by"] == "current"
        for _, answer in results:
            stack.wait_state(answer.body["event_id"])
    finally:
        changed.set()
        stack.deployment.put_secret("WebhookSecret", old)
        stack.functions.kill("WebhookFunction")

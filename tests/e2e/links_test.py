#!/usr/bin/python3
"""Links that sign a browser in: what whoever follows one may do, and when that ends."""

import json
import os
import pwd
import unittest

from people_test import PeopleLab


class Links(PeopleLab):
    def test_a_link_for_somebody_else_gives_that_user_s_rights(self):
        self.add("vic", "viewer")
        made = json.loads(self.lab.request("POST", "/api/v1/sessions/link", headers={"X-Schedulearn-User": "vic"})[2])
        status, _, text = self.lab.request("POST", "/api/v1/sessions", headers={"X-Schedulearn-Code": made["code"]})
        self.assertEqual((status, json.loads(text)["user"], json.loads(text)["role"]), (201, "vic", "viewer"))

    def signed_in(self, secret, **headers):
        """The headers of a browser that a link of this token has signed in, and who it is."""
        code = self.ask(secret, "POST", "/api/v1/sessions/link", {}, **headers)[1]["code"]
        status, headers, text = self.lab.request("POST", "/api/v1/sessions", {}, {"X-Schedulearn-Code": code})
        self.assertEqual(status, 201, text)
        return {"Cookie": headers["Set-Cookie"].split(";")[0], "X-Schedulearn-Session": json.loads(text)["key"]}, json.loads(text)

    def who_is(self, browser):
        return json.loads(self.lab.request("GET", "/api/v1/whoami", None, browser)[2])

    def test_a_link_that_a_token_makes_in_its_own_name_allows_no_more_than_the_token(self):
        own = pwd.getpwuid(os.geteuid()).pw_name
        token = json.loads(self.lab.request("POST", "/api/v1/tokens", {"name": "corridor", "role": "viewer", "expires_in_s": 3600})[2])
        browser, told = self.signed_in(token["token"], **{"X-Schedulearn-User": own})
        self.assertEqual((told["user"], told["role"], told["token"]), (own, "viewer", "corridor"))
        self.assertEqual(json.loads(self.lab.request("POST", "/api/v1/tokens", {"name": "more", "role": "user"}, browser)[2])["code"], "role-needed")
        self.revoke(token)
        self.assertEqual(self.who_is(browser)["token"], None)

    def test_a_link_for_somebody_else_ends_with_the_token_that_made_it_and_with_that_user(self):
        self.add("vic", "viewer")
        secret = self.add("ada", "admin", name="boss")
        token = self.made
        first, told = self.signed_in(secret, **{"X-Schedulearn-User": "vic"})
        self.assertEqual((told["user"], told["role"]), ("vic", "viewer"))
        self.revoke(token)
        self.assertNotEqual(self.who_is(first)["user"], "vic")
        second, _ = self.signed_in(self.add("ada", name="other"), **{"X-Schedulearn-User": "vic"})
        self.assertEqual(self.who_is(second)["role"], "viewer")
        self.assertEqual(self.lab.request("DELETE", "/api/v1/users/vic")[0], 200)
        self.assertNotEqual(self.who_is(second)["user"], "vic")
        self.add("vic", "admin")
        self.assertNotEqual(self.who_is(second)["user"], "vic", "this is another user of that name")
        self.assertEqual(self.lab.request("DELETE", "/api/v1/users/vic")[0], 200)
        self.assertEqual(self.code(self.add("ada", name="third"), "POST", "/api/v1/sessions/link", {}, **{"X-Schedulearn-User": "vic"}), "user-not-found")

    def test_a_code_that_has_ended_signs_nobody_in(self):
        secret = self.add("tom")
        code = self.ask(secret, "POST", "/api/v1/sessions/link", {})[1]["code"]
        self.assertEqual(self.lab.request("DELETE", "/api/v1/users/tom")[0], 200)
        status, _, text = self.lab.request("POST", "/api/v1/sessions", {}, {"X-Schedulearn-Code": code})
        self.assertEqual((status, json.loads(text)["code"]), (403, "code-used"))


if __name__ == "__main__":
    unittest.main()

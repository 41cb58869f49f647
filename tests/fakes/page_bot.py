"""A bot with one of everything that the page must show: buttons, a menu, a form, commands with what they offer."""

from typing import Any

import discord
from discord import app_commands

from fakes.discord_client import Client


class Form(discord.ui.Modal, title="A form"):
    word: discord.ui.TextInput["Form"] = discord.ui.TextInput(label="A word", custom_id="word")

    async def on_submit(self, interaction: discord.Interaction[Any], /) -> None:
        await interaction.response.send_message(f"you wrote {self.word.value}", ephemeral=True)


class Panel(discord.ui.View):
    @discord.ui.button(label="Open", custom_id="open")
    async def open(self, interaction: discord.Interaction[Any], _button: discord.ui.Button["Panel"]) -> None:
        await interaction.response.send_modal(Form())

    @discord.ui.select(
        custom_id="pick", options=[discord.SelectOption(label="Red"), discord.SelectOption(label="Blue")]
    )
    async def pick(self, interaction: discord.Interaction[Any], menu: discord.ui.Select["Panel"]) -> None:
        await interaction.response.edit_message(content=f"picked {menu.values[0]}")


def bot() -> Client:
    client = Client()

    async def offer(_: discord.Interaction[Any], typed: str) -> list[app_commands.Choice[str]]:
        return [app_commands.Choice(name=f"{typed}!", value=typed)]

    @client.tree.command(name="greet", description="Greets")
    @app_commands.autocomplete(name=offer)
    async def greet(interaction: discord.Interaction[Any], name: str) -> None:
        await interaction.response.send_message(f"hello {name}", ephemeral=True)

    @client.tree.context_menu(name="Count")
    async def count(interaction: discord.Interaction[Any], message: discord.Message) -> None:
        await interaction.response.send_message(f"{len(message.content)} characters", ephemeral=True)

    return client
